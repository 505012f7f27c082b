"""Mutation testing by simulation alone: a mutant is killed if some world shows that a property is broken.

mutmut says how functions are mutated; here each mutant is the code of one function, put in its place in a
forked process that has been warmed up before. That process lives through a fixed number of worlds and a small
exhaustive exploration; whatever is violated, raised, or never ends has killed the mutant. No test is asked.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import os
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import attrs

from mcp_sansio._tables import TABLES, Table
from mcp_sansio.simulation import PROPERTIES, TORTURE, run_seed
from mcp_sansio.simulation._exhaustive.explore import SMALL, explore
from mcp_sansio.simulation._zoo import scenes_client as _zoo_scenes
from mcp_sansio.simulation._zoo import scenes_live as _scenes_live
from mcp_sansio.simulation._zoo import scenes_server as _scenes_server

ROOM = Path(__file__).parent.parent / "mcp_sansio"
MODULES = (
    *("_tables", "_timers", "_structure", "_lines", "_line_wire", "_listing", "_waiters", "_coalescer"),
    *("_subscription", "_calls"),
)
SEEDS = 40
SCENES = (
    *(_zoo_scenes.BUSY, _zoo_scenes.STORM, _zoo_scenes.TWO_SERVERS, _zoo_scenes.FOREIGN_TAGS),
    *(_zoo_scenes.EARLY, _scenes_server.REPLICAS, _scenes_server.STORM, _scenes_server.PRINCIPALS),
    *(_scenes_server.SHUTDOWN, _scenes_live.REFUSED, _scenes_live.FLOOD),
)
"""Worlds of one kind, in which some properties are easier to break: one of each."""

PATIENCE = 60
"""Seconds of a processor after which a mutant is one that never ends."""


@attrs.frozen
class Mutant:
    """What is changed, in words, and what changes it."""

    text: str
    apply: Callable[[], object]


# --- functions --------------------------------------------------------------------------------------


def function_mutants(name: str) -> Iterator[Mutant]:
    """Every mutant of the functions of a module that is another program."""
    settings()
    create_mutations: Any = importlib.import_module("mutmut.mutation.file_mutation").create_mutations
    path = ROOM / f"{name}.py"
    source = path.read_text()
    live = functions(importlib.import_module(f"mcp_sansio.{name}"))
    tree, mutations, *_ = create_mutations(str(path), source)
    before = codes(compile(source, path, "exec"))
    for mutation in mutations:
        try:
            changed = tree.deep_replace(mutation.original_node, mutation.mutated_node).code
            after = codes(compile(changed, path, "exec"))
        except SyntaxError:
            continue
        for qualname, code in after.items():
            if qualname in live and shape(code) != shape(before[qualname]):
                text = difference(source, changed)
                yield Mutant(f"{name}.{qualname}: {text}", partial(give, live[qualname], code))


@cache
def settings() -> None:
    """Mutmut wants to be told what to mutate by a file, though it is told by the call."""
    place = Path(tempfile.mkdtemp())
    (place / "setup.cfg").write_text("[mutmut]\nsource_paths=.\n")
    os.chdir(place)


def give(function: FunctionType, code: CodeType) -> None:
    function.__code__ = code


def codes(code: CodeType) -> dict[str, CodeType]:
    """The code of every function and method."""
    found: dict[str, CodeType] = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & 2:  # a function, and no class body
                found[constant.co_qualname] = constant
            else:
                found.update(codes(constant))
    return found


def shape(code: CodeType) -> Any:
    """What a code does, wherever it stands."""
    constants = tuple(
        shape(c) if isinstance(c, CodeType) else (type(c).__name__, repr(c)) for c in code.co_consts
    )
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_exceptiontable


def functions(module: Any) -> dict[str, FunctionType]:
    """The functions and methods of a module, by their qualified names, without what decorates them."""
    found: dict[str, FunctionType] = {}
    members: list[Any] = [*vars(module).values()]
    owners: list[Any] = [module, *filter(inspect.isclass, members)]
    for owner in owners:
        for value in vars(owner).values():
            bare: Any = getattr(value, "fget", None) or getattr(value, "__func__", value)
            while hasattr(bare, "__wrapped__"):
                bare = bare.__wrapped__
            if isinstance(bare, FunctionType) and bare.__module__ == module.__name__:
                found[bare.__qualname__] = bare
    return found


def difference(before: str, after: str) -> str:
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return next((f"{b.strip()}  ->  {a.strip()}" for b, a in pairs if a != b), "?")


# --- rows -------------------------------------------------------------------------------------------


def row_mutants(table: Table[Any, Any]) -> Iterator[Mutant]:
    """Every row with every wrong state after it, and without it."""
    rows: Any = table.rows
    states: list[Any] = [*table.start.__class__]
    for row, after in [*rows.items()]:
        text = f"rows:{table.name}: {row[0].name} {row[1].name}"
        yield Mutant(f"{text} -> no row", partial(rows.pop, row))
        for wrong in states:
            if wrong is not after:
                yield Mutant(f"{text} -> {wrong.name}", partial(rows.__setitem__, row, wrong))


# --- worlds -----------------------------------------------------------------------------------------


def judge() -> str | None:
    """What is wrong with this library, if any world shows it."""
    for scene, seed in [*((TORTURE, seed) for seed in range(SEEDS)), *((scene, 0) for scene in SCENES)]:
        violation = run_seed(scene, seed, PROPERTIES).violation
        if violation is not None:
            return f"{violation.property} at seed {seed} of {scene.name}"
    explored = explore(SMALL)
    return None if explored.violation is None else f"{explored.violation.property}, explored"


def fate(mutant: Mutant) -> str | None:
    """What killed a mutant: a property, an exception, or time."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        try:
            mutant.apply()
            found = judge()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the library has shown that it is broken
            found = type(error).__name__
        os.write(writer, (found or "").encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        found = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    return found or (None if status == 0 else "never ends")


def mutants(names: list[str]) -> Iterator[tuple[str, Iterator[Mutant]]]:
    tables = {f"rows:{table.name}": table for table in TABLES}
    for name in names or [*MODULES, *tables]:
        yield name, row_mutants(tables[name]) if name in tables else function_mutants(name)


def main(names: list[str]) -> None:
    """Try what is named; print how many were killed and by what, and those that were not."""
    wrong = judge()  # warms up, and says whether there is anything to be told apart
    if wrong is not None:
        sys.exit(f"the library itself is found to be broken: {wrong}")
    gc.freeze()
    for name, made in mutants(names):
        ends: Counter[str] = Counter()
        for mutant in made:
            end = fate(mutant)
            ends[(end or "survives").split(" at ")[0].split(",")[0]] += 1
            if not end:
                print(f"  {mutant.text}", flush=True)
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{name}: {ends.total()} mutants, {ends.total() - ends['survives']} killed, ", end="")
        print(f"{spent.ru_utime + spent.ru_stime:.0f} s so far; {dict(ends.most_common())}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
