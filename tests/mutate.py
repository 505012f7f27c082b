"""Mutation testing, run by hand: `docs/mutation.md` says how, and what came of it.

Two kinds of mutants. Functions are mutated by mutmut, each module in a copy of the tree where only the
module's own tests count. mutmut leaves decorated functions alone, so the copy says `f = decorator(f)` after
the function, which is the same. It does not know mappings either, so the rows of the state tables are mutated
here: each is removed, and led to every other state, in a child process that runs the tests of the table.

`tests/mutate_worlds.py` asks another question: whether simulation alone, without any test, notices.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_sansio._tables import TABLES, Table

ROOT = Path(__file__).parent.parent

MODULES = {
    "_tables": ("tables",),
    "_timers": ("timers",),
    "_lines": ("lines",),
    "_line_wire": ("line_wire", "line_noise"),
    "_coalescer": ("coalescer",),
    "_structure": ("structure", "structure_pages", "codec_corpus", "shapes"),
    "_shapes": ("structure", "structure_pages", "codec_corpus", "shapes"),
    "_versions": ("versions",),
}
"""Each module with the tests that have to notice."""

ROWS = {
    "negotiation": ("tables", "transitions", "negotiation", "handshakes", "rediscovery"),
    "call": ("tables", "transitions", "calls", "call_clocks", "rounds"),
    "listen": ("tables", "transitions", "subscription", "subscription_ends"),
    "walk": ("tables", "transitions", "listing"),
    "coalescer": ("tables", "transitions", "coalescer"),
    "session": ("tables", "transitions", "sessions"),
    "reply": ("tables", "transitions", "server", "routing"),
    "subscription": ("tables", "transitions", "topics"),
    "channel": ("tables", "transitions", "line_wire", "line_noise"),
}
"""Each table with the tests of those who own the state."""


def files(tests: tuple[str, ...]) -> list[str]:
    return [f"tests/test_{name}.py" for name in tests]


FRESH = """

def pytest_runtest_setup():
    from mcp_sansio import _shapes, _structure
    for value in [*vars(_shapes).values(), *vars(_structure).values()]:
        if hasattr(value, "cache_clear"):
            value.cache_clear()
"""
"""Without this, mutmut believes that a cached function matters to none but the first test that called it."""


# --- functions --------------------------------------------------------------------------------------


def without_decorators(source: str) -> str:
    """The same program, its functions decorated by assignments after them."""
    lines = source.splitlines()
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    for function in sorted(functions, key=lambda function: function.lineno, reverse=True):
        indent, name = " " * function.col_offset, function.name
        lines[function.end_lineno : function.end_lineno] = [
            f"{indent}{name} = {ast.unparse(decorator)}({name})"
            for decorator in function.decorator_list[::-1]
        ]
        for decorator in function.decorator_list:
            lines[decorator.lineno - 1] = ""
    return "\n".join(lines) + "\n"


def settings(module: str) -> str:
    """What mutmut is told. The tests run in forks of a process that has done no more than collect them."""
    return "\n".join(
        (
            "[mutmut]",
            "source_paths=mcp_sansio",
            f"only_mutate=mcp_sansio/{module}.py",
            "pytest_add_cli_args_test_selection=",
            *(f"  {name}" for name in files(MODULES[module])),
            "process_isolation=forkserver",
            "timeout_constant=30",
        )
    )


def mutate_functions(module: str) -> None:
    """Run mutmut for one module; print how many mutants came to which end, and those not killed."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "adapters"))
        path = copy / "mcp_sansio" / f"{module}.py"
        path.write_text(without_decorators(path.read_text()))
        (copy / "setup.cfg").write_text(settings(module))
        with (copy / "tests" / "conftest.py").open("a") as conftest:
            conftest.write(FRESH)
        mutmut = [sys.executable, "-m", "mutmut"]
        subprocess.run(
            [*mutmut, "run", "--max-children", "1"], cwd=copy, stdout=subprocess.DEVNULL, check=True
        )
        results = subprocess.run(
            [*mutmut, "results", "--all", "true"], cwd=copy, capture_output=True, text=True, check=True
        )
        ends = dict(line.strip().split(": ") for line in results.stdout.splitlines() if ": " in line)
        print(module, dict(Counter(ends.values())))
        for mutant in [mutant for mutant, end in ends.items() if end != "killed"]:
            print(f"\n# {ends[mutant]}", flush=True)
            subprocess.run([*mutmut, "show", mutant], cwd=copy, check=True)


# --- rows -------------------------------------------------------------------------------------------


def row_mutants(table: Table[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Every row with every wrong state after it, None for no such row."""
    for row, after in table.rows.items():
        yield row, None
        for wrong in type(after):
            if wrong is not after:
                yield row, wrong


def survives(table: Table[Any, Any], row: Any, after: Any) -> bool:
    """Whether the tests of the table pass with that row."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    rows: Any = table.rows
    if after is None:
        del rows[row]
    else:
        rows[row] = after
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    os.dup2(silence, sys.stderr.fileno())
    os._exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--timeout=60", *files(ROWS[table.name])]))


def mutate_rows(table: Table[Any, Any]) -> None:
    """Try every row mutant of one table; print how many were killed, and those that were not."""
    mutants = list(row_mutants(table))
    survivors = [mutant for mutant in mutants if survives(table, *mutant)]
    print(f"{table.name}: {len(mutants)} mutants, {len(mutants) - len(survivors)} killed", flush=True)
    for (before, event), after in survivors:
        print(f"  {before.name} {event.name} -> {after.name if after else 'no row'}", flush=True)


def main(names: list[str]) -> None:
    """Mutate what is named: modules by their names, tables as `rows:name`; everything without names."""
    os.chdir(ROOT)
    os.environ["HYPOTHESIS_PROFILE"] = "ci"  # repeatable
    tables = {f"rows:{table.name}": table for table in TABLES}
    for name in names or [*MODULES, *tables]:
        if name in tables:
            mutate_rows(tables[name])
        else:
            mutate_functions(name)


if __name__ == "__main__":
    main(sys.argv[1:])
