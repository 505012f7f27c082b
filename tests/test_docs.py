"""The documentation: its examples run, its links lead somewhere, and what is generated is up to date."""

from __future__ import annotations

import ast
import inspect
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mcp_sansio

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)

each_page = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])


def examples(page: Path) -> Iterator[str]:
    """The Python blocks of a page, each with its line numbers."""
    text = page.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        yield "\n" * text.count("\n", 0, block.start(1)) + block[1]


def anchors(page: Path) -> set[str]:
    """What headings can be linked to, as Git forges spell it."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [page for page in PAGES if any(examples(page))], ids=lambda page: page.name)
def test_the_examples_of_a_page_run_one_after_the_other(page: Path) -> None:
    names: dict[str, Any] = {"__name__": page.stem}
    for example in examples(page):
        exec(compile(example, str(page), "exec"), names)  # noqa: S102  # that is the test


def test_there_are_examples() -> None:
    assert sum(1 for page in PAGES for _ in examples(page)) > 6


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{page.name}: {target}"
        assert found.is_relative_to(ROOT)
        assert not anchor or anchor in anchors(found), f"{page.name}: {target}"


def test_what_is_generated_is_up_to_date() -> None:
    generator = runpy.run_path(str(DOCS / "generate.py"))
    assert generator["stale"]() == [], "run docs/generate.py"


def test_every_state_and_transition_is_drawn() -> None:
    from mcp_sansio._tables import TABLES  # noqa: PLC0415  # no other test here looks inside

    text = (DOCS / "states.md").read_text(encoding="utf-8")
    arrows = set(re.findall(r"^    (\w+) --> (\w+): (.*)$", text, re.MULTILINE))
    for table in TABLES:
        for (before, event), after in table.rows.items():
            labels = [label for start, end, label in arrows if (start, end) == (before.name, after.name)]
            assert any(event.value in label.split(", ") for label in labels)


def test_names_in_code_spans_exist() -> None:
    """`Client.request` in the text is a name of the package, if `Client` is."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for name, attribute in re.findall(r"`([A-Z]\w+)\.(\w+)(?:\([^`]*\))?`", text):
            owner = getattr(mcp_sansio, name, None)
            if owner is not None and not hasattr(owner, attribute):
                assert f"self.{attribute}" in inspect.getsource(owner), f"{page.name}: {name}.{attribute}"


def test_the_public_names_are_those_that_the_package_promises() -> None:
    tree = ast.parse((ROOT / "mcp_sansio" / "__init__.py").read_text(encoding="utf-8"))
    imported = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert imported == set(mcp_sansio.__all__)
