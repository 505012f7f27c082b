"""The cookbook: every example prints what stands below it, and none is long."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "cookbook.md"
RECIPE = re.compile(r"^## (.*?)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LONGEST = 25
"""Lines of an example, blank ones aside."""


def recipes() -> Iterator[tuple[str, str, str]]:
    """What each recipe is called, its example, and what that prints."""
    for title, body in RECIPE.findall(PAGE.read_text(encoding="utf-8")):
        (kind, example), (said, printed) = BLOCK.findall(body)
        assert (kind, said) == ("python", "text"), title
        yield title, example, printed


@pytest.mark.live
def test_every_example_prints_what_stands_below_it() -> None:
    names: dict[str, Any] = {"__name__": "cookbook"}
    before = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    for _, shared in BLOCK.findall(before):
        exec(shared, names)  # noqa: S102  # that is the test
    for title, example, printed in recipes():
        with redirect_stdout(io.StringIO()) as heard:
            exec(compile(example, title, "exec"), names)  # noqa: S102
        assert heard.getvalue() == printed, title


def test_no_example_is_long() -> None:
    for title, example, _ in recipes():
        lines = [line for line in example.splitlines() if line.strip()]
        assert len(lines) <= LONGEST, title
