"""A failure as a test: a Python file that replays the tape and asserts that the property holds.

It fails until the mistake is mended and passes from then on. The replay is lenient, for a mended program
draws other things; zeros that nothing follows are left out, since a replay supplies them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from mcp_sansio.simulation._run import Outcome
from mcp_sansio.simulation._tape import Draw

from .labels import shorten
from .outline import outline
from .story import tell

_FILE = '''"""{title}

{about}

{story}"""

from mcp_sansio.simulation import PROPERTIES, replay
from {module} import {name} as SCENARIO

TAPE = (
{tape}
)
"""What was drawn: a label, the number of possibilities, and which one it was; the rest is 0."""


def test_{test}() -> None:
    checks = [check for check in PROPERTIES if check.id == "{property}"]
    outcome = replay(SCENARIO, TAPE, checks, strict=False)
    assert outcome.violation is None, outcome.violation
'''


def loud(record: Sequence[Draw]) -> tuple[Draw, ...]:
    """A tape without the zeros that end the draws of a label."""
    last = {label: at for at, (label, _, value) in enumerate(record) if value}
    return tuple(draw for at, draw in enumerate(record) if at <= last.get(draw[0], -1))


def regression_test(failed: Outcome, scenario: str = "mcp_sansio.simulation:TORTURE") -> str:
    """The text of the file. `scenario` says where it is: a module and, after a colon, a name in it.

    Raises `ValueError` for a run that has not failed.
    """
    violation = failed.violation
    if violation is None:
        raise ValueError("every property held: there is nothing to test for")
    module, _, name = scenario.partition(":")
    return _FILE.format(
        title=_harmless(f"{violation.property} {violation.checker.title}: {shorten(violation.text, 80)}"),
        about=f"{violation.checker.anchor} ({violation.checker.level.value})",
        story=_harmless(outline(tell(failed.trace), most=60)),
        module=module,
        name=name,
        tape="\n".join(_lines(loud(failed.record))),
        test=re.sub(r"\W+", "_", f"{violation.property} {violation.checker.title}".lower()),
        property=violation.property,
    )


def _lines(tape: Sequence[Draw]) -> Iterator[str]:
    for (label, n, value), same in groupby(tape):
        times = len(list(same))
        yield (
            f'    ("{label}", {n}, {value}),'
            if times == 1
            else f'    *[("{label}", {n}, {value})] * {times},'
        )


def _harmless(text: str) -> str:
    """Text that may stand in a docstring."""
    return text.replace("\\", "/").replace('"', "'")
