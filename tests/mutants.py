"""Mutants of this library that are put in their place in a running process: no module is imported again.

mutmut says how functions are mutated. Each mutant is the code of one function in place of the one before;
what decorates a function stays as it is. The rows of the state tables are mutated here: each is removed, and
led to every other state. Constants and class bodies are left alone.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import attrs

from mcp_sansio._tables import Table

ROOM = Path(__file__).parent.parent / "mcp_sansio"


@attrs.frozen
class Place:
    """Where in the library something is: a function and a line in it (None: any), or a table and a row."""

    where: str
    at: object


@attrs.frozen
class Mutant:
    """What is changed, in words, where that is, and what changes it."""

    text: str
    place: Place
    apply: Callable[[], object]


# --- functions --------------------------------------------------------------------------------------


def function_mutants(name: str) -> Iterator[Mutant]:
    """Every mutant of the functions of a module that is another program."""
    path = ROOM / f"{name}.py"
    source = without_decorators(path.read_text())
    live = functions(importlib.import_module(f"mcp_sansio.{name}"))
    before = codes(compile(source, path, "exec"))
    for changed in changes(str(path), source):
        try:
            after = codes(compile(changed, path, "exec"))
        except SyntaxError:
            continue
        for qualname, code in after.items():
            if qualname in live and shape(code) != shape(before[qualname]):
                line, text = difference(source, changed)
                lines = {line for *_, line in before[qualname].co_lines()}
                at = Place(f"{name}.{qualname}", line if line in lines else None)
                yield Mutant(f"{name}.{qualname}: {text}", at, partial(give, live[qualname], code))


def without_decorators(source: str) -> str:
    """The same lines, but for those of decorators: mutmut leaves decorated functions alone."""
    lines = source.splitlines()
    for function in ast.walk(ast.parse(source)):
        for decorator in function.decorator_list if isinstance(function, ast.FunctionDef) else ():
            for number in range(decorator.lineno - 1, decorator.end_lineno or decorator.lineno):
                lines[number] = ""
    return "\n".join(lines) + "\n"


def changes(path: str, source: str) -> Iterator[str]:
    """Every source that mutmut makes of one."""
    settings()
    create_mutations: Any = importlib.import_module("mutmut.mutation.file_mutation").create_mutations
    metadata: Any = importlib.import_module("libcst.metadata")
    tree, mutations, *_ = create_mutations(path, source)
    wrapper = metadata.MetadataWrapper(tree, unsafe_skip_copy=True)
    spans = wrapper.resolve(metadata.PositionProvider)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for mutation in mutations:
        span = spans[mutation.original_node]
        begin = starts[span.start.line - 1] + span.start.column
        end = starts[span.end.line - 1] + span.end.column
        if source[begin:end] == tree.code_for_node(mutation.original_node):
            yield source[:begin] + tree.code_for_node(mutation.mutated_node) + source[end:]
        else:
            yield tree.deep_replace(mutation.original_node, mutation.mutated_node).code


@cache
def settings() -> None:
    """Mutmut wants to be told what to mutate by a file, though it is told by the call."""
    place = Path(tempfile.mkdtemp())
    (place / "setup.cfg").write_text("[mutmut]\nsource_paths=.\n")
    os.chdir(place)


def give(function: FunctionType, code: CodeType) -> None:
    """Let a function be another one."""
    function.__code__ = code
    forget()


def forget() -> None:
    """Let the functions that remember what they returned be asked again."""
    for name, module in [*sys.modules.items()]:
        for value in vars(module).values() if name.startswith("mcp_sansio._s") else ():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


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


def difference(before: str, after: str) -> tuple[int, str]:
    """The first line that differs, and how."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    for number, (b, a) in enumerate(pairs, 1):
        if a != b:
            return number, f"{number}: {b.strip()}  ->  {a.strip()}"
    return 0, "?"


# --- rows -------------------------------------------------------------------------------------------


def row_mutants(table: Table[Any, Any]) -> Iterator[Mutant]:
    """Every row with every wrong state after it, and without it."""
    rows: Any = table.rows
    states: list[Any] = [*table.start.__class__]
    for row, after in [*rows.items()]:
        text = f"rows:{table.name}: {row[0].name} {row[1].name}"
        place = Place(f"rows:{table.name}", row)
        yield Mutant(f"{text} -> no row", place, partial(rows.pop, row))
        for wrong in states:
            if wrong is not after:
                yield Mutant(f"{text} -> {wrong.name}", place, partial(rows.__setitem__, row, wrong))
