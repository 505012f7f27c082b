"""The reference: everything public has its place in it, once, and says what it is.

Which names the pages have is read from the pages themselves, so that no tool is needed for it; that the
site can be built from them is seen where the style of the sources is.
"""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent / "docs"
SITE = runpy.run_path(str(DOCS / "conf.py"))
MODULES: list[ModuleType] = SITE["public_modules"]()
PLACE = re.compile(r"^\.\. (currentmodule|auto\w+):: (\S+)$", re.MULTILINE)

each_module = pytest.mark.parametrize("module", MODULES, ids=[module.__name__ for module in MODULES])


def shown() -> Counter[tuple[str, str]]:
    """What the pages show: modules, and names in them."""
    found: Counter[tuple[str, str]] = Counter()
    for page in (DOCS / "api").glob("*.md"):
        module = ""
        for directive, name in PLACE.findall(page.read_text(encoding="utf-8")):
            if directive == "currentmodule":
                module = name
            else:
                found[module, name] += 1
    return found


def value_of(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def members(owner: type) -> list[Any]:
    """The public functions and properties that a class defines."""
    return [
        value
        for name, value in vars(owner).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
    ]


def test_the_public_modules_are_found() -> None:
    names = {module.__name__ for module in MODULES}
    fronts = {f"mcp_sansio_adapters.{front}" for front in ("asyncio", "trio", "blocking", "asgi", "folder")}
    assert names >= {"mcp_sansio", "mcp_sansio.h11", "mcp_sansio_adapters", *fronts}


@each_module
def test_everything_public_is_shown(module: ModuleType) -> None:
    values = [value_of(*place) for place in shown()]
    names = [name for name in module.__all__ if (module.__name__, name) not in shown()]
    missing = [name for name in names if not any(getattr(module, name) is value for value in values)]
    assert missing == [], "add them to a page of docs/api"


def test_nothing_is_shown_that_is_not_public_or_twice() -> None:
    for (module, name), times in shown().items():
        place = importlib.import_module(module)
        assert name in getattr(place, "__all__", vars(place)), f"{module}.{name}"
        assert times == 1, f"{module}.{name}"


@each_module
def test_everything_public_says_what_it_is(module: ModuleType) -> None:
    said = SITE["said_of_names"]()
    for name in module.__all__:
        value = getattr(module, name)
        of_itself = value.__doc__ if inspect.isclass(value) or inspect.isroutine(value) else None
        assert said.get(name) or of_itself, name
        for member in members(value) if inspect.isclass(value) else ():
            assert inspect.getdoc(member), f"{name}: {member}"


def test_what_it_says_renders() -> None:
    """Google style, in which a first line with a colon would be taken for a type."""
    for module, name in shown():
        value = value_of(module, name)
        for member in members(value) if inspect.isclass(value) else ():
            if isinstance(member, property):
                first = (inspect.getdoc(member) or "").partition("\n")[0]
                assert not re.match(r"[^`]*:\s", first), f"{module}.{name}: {first}"
