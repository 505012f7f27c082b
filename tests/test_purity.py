"""Purity: the core computes. It reads no clock, opens nothing, starts nothing, and is the same every time.

Looked at from two sides: what its source says, and what an interpreter sees that does nothing but run
sessions. What the dependencies load is theirs, and is named here so that nobody has to find out: attrs loads
`threading`, and `typing_extensions` (which cattrs needs before Python 3.13) the C half of `socket`; neither
starts a thread nor opens a socket, or the audit hook would have seen it.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mcp_sansio

ROOM = Path(mcp_sansio.__file__).parent
SOURCES = sorted(ROOM.rglob("*.py"))
TESTS = Path(__file__).parent

ALLOWED = {
    *("__future__", "abc", "collections", "contextlib", "enum", "types", "typing"),
    *("base64", "bisect", "functools", "hashlib", "heapq", "hmac", "itertools", "json", "math", "operator"),
    *("datetime", "decimal", "inspect", "re", "uuid"),
    *("attrs", "cattrs", "msgspec"),
}
ONLY_IN = {
    **{name: {"h11"} for name in ("_h11_client.py", "_h11_server.py")},
    "simulation/_exhaustive/fork.py": {"copyreg", "io", "pickle"},  # of our own objects, in memory
}
BUILTINS = {"open", "print", "input", "breakpoint", "exec", "eval", "__import__", "hash", "id"}
"""Built-in functions that reach outside, or whose result differs between two runs."""

WORLDLY = {
    *("asyncio", "trio", "anyio", "selectors", "select", "signal", "multiprocessing", "concurrent"),
    *("socket", "_socket", "ssl", "_ssl", "http", "h11", "subprocess", "_posixsubprocess"),
    *("threading", "queue", "random", "_random", "secrets", "time", "logging", "tempfile"),
}


def nodes(source: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(source.read_text(encoding="utf-8")))


def imports(source: Path) -> set[str]:
    """The top-level names of the modules from elsewhere that a file imports."""
    found: set[str] = set()
    for node in nodes(source):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").partition(".")[0])
    return found


each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda file: str(file.relative_to(ROOM)))


@each_source
def test_only_pure_modules_are_imported(source: Path) -> None:
    more = ONLY_IN.get(source.relative_to(ROOM).as_posix(), set())
    assert imports(source) - {"mcp_sansio"} <= ALLOWED | more


@each_source
def test_nothing_reaches_outside_or_waits(source: Path) -> None:
    called = {n.func.id for n in nodes(source) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert called & BUILTINS == set()
    asynchronous = ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await
    assert [n for n in nodes(source) if isinstance(n, asynchronous)] == []


@each_source
def test_nothing_is_asserted_about_what_comes_from_a_peer(source: Path) -> None:
    assert [n.lineno for n in nodes(source) if isinstance(n, ast.Assert)] == []


# --- a session in a fresh interpreter -----------------------------------------------------------------


def child(hash_seed: int) -> dict[str, Any]:
    path = os.pathsep.join([str(TESTS), str(ROOM.parent)])
    report = subprocess.run(
        [sys.executable, str(TESTS / "purity_child.py")],
        env={"PYTHONPATH": path, "PYTHONHASHSEED": str(hash_seed)},
        check=True,
        stdout=subprocess.PIPE,
    )
    found: dict[str, Any] = json.loads(report.stdout)
    return found


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return child(0)


def worldly(modules: list[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] in WORLDLY}


def test_a_prompt_was_rendered_in_every_revision(report: dict[str, Any]) -> None:
    assert report["rendered"] == dict.fromkeys(mcp_sansio.ALL_VERSIONS, 2)


def test_we_load_no_loop_no_socket_and_no_clock(report: dict[str, Any]) -> None:
    assert worldly(report["ours"]) == set()


def test_the_dependencies_load_what_we_say_that_they_load(report: dict[str, Any]) -> None:
    assert worldly(report["dependencies"]) <= {"threading", "_socket"}


def test_the_simulation_is_loaded_by_who_asks_for_it_alone(report: dict[str, Any]) -> None:
    assert not [name for name in report["ours"] if "simulation" in name]


def test_a_session_imports_nothing(report: dict[str, Any]) -> None:
    assert report["session"] == []


def test_a_session_touches_nothing(report: dict[str, Any]) -> None:
    """Of all that Python audits (files, sockets, processes, threads, imports, the clock's neighbours …),
    nothing happens but what attrs and cattrs do to write and read their classes.
    """
    harmless = {"builtins.id", "compile", "exec", "object.__getattr__", "object.__setattr__", "sys._getframe"}
    assert set(report["audited"]) <= harmless


def test_the_hash_seed_changes_nothing(report: dict[str, Any]) -> None:
    other = child(1)
    assert report["lines"] > 300
    assert (other["lines"], other["trace"]) == (report["lines"], report["trace"])
