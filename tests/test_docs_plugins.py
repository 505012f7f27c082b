"""The page on bringing one's own: examples print what stands below them, and what it says of others is so."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from recordings import official_sdk

from mcp_sansio.simulation import PROPERTIES, Trace, verdicts

PAGE = (Path(__file__).parent.parent / "docs" / "simulation_plugins.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TINY = re.compile(r"^class Tiny.*?(?=^```)", re.MULTILINE | re.DOTALL)


def test_every_example_prints_what_stands_below_it() -> None:
    names: dict[str, Any] = {"__name__": "plugins"}
    heard = io.StringIO()
    for kind, text in BLOCK.findall(PAGE):
        if kind == "text":
            assert heard.getvalue() == text
            heard = io.StringIO()
        else:
            with redirect_stdout(heard):
                exec(compile(text, "simulation_plugins.md", "exec"), names)  # noqa: S102  # that is the test


def test_a_client_of_ones_own_takes_thirty_lines() -> None:
    (tiny,) = TINY.findall(PAGE)
    assert len([line for line in tiny.splitlines() if line.strip()]) <= 30


def row(era: str, recorded: str, trace: Trace) -> str:
    """What a trace says, as the page has it."""
    found = [verdict for verdict in verdicts(trace, PROPERTIES) if verdict.judged]
    held = " ".join(verdict.property for verdict in found if verdict.violation is None)
    broken = " ".join(verdict.property for verdict in found if verdict.violation is not None) or "none"
    return f"| {era} | {recorded} | {held} | {broken} |"


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize("era", official_sdk.VERSIONS)
def test_what_is_said_of_the_official_sdk_is_so(era: str, tmp_path: Path) -> None:
    assert row(era, "our client, its server", official_sdk.of_its_server(era)) in PAGE.splitlines()
    assert row(era, "its client, our server", official_sdk.of_its_client(era, tmp_path)) in PAGE.splitlines()
