"""What the demonstration prints: a gutter with the step, sentences beside it, and what the step cost.

Plain lines, so that a pipe gets the same as a terminal, which gets some colour on top of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping

import attrs
import click

from mcp_sansio import Prompt
from mcp_sansio_adapters._pump import Traffic
from mcp_sansio_adapters.cli.show import amount, one_line

GUTTER = 13
WIDTH = 100

_SIGNS = {"+ ": "green", "- ": "red", "~ ": "yellow"}


class Report:
    """Prints one line after the other, and adds up what everything cost."""

    def __init__(self) -> None:
        self._color = False if os.environ.get("NO_COLOR") else None
        self._label = ""
        self._started = time.monotonic()
        self._total = Traffic()
        self._steps = 0

    def title(self, text: str) -> None:
        """A line of its own."""
        self._print(click.style(text, bold=True))

    def heading(self, text: str) -> None:
        """A new part."""
        self._print()
        self._print(click.style(f"── {text} ".ljust(WIDTH, "─"), bold=True))

    def step(self, name: str) -> None:
        """A new step: its name stands beside its first line."""
        self._print()
        self._steps += 1
        self._label = f"{self._steps:>2} {name}"

    def say(self, text: str) -> None:
        """A sentence about the step."""
        self._print(self._gutter() + one_line(text))

    def detail(self, text: str) -> None:
        """Something that belongs to the last sentence; a difference has its colour."""
        text, room = one_line(text), WIDTH - GUTTER - 4
        shown = text if len(text) <= room else text[: room - 1] + "…"
        self._print(" " * (GUTTER + 4) + click.style(shown, fg=_SIGNS.get(shown[:2])))

    def proved(self, text: str) -> None:
        """What has been compared with the files and is right."""
        self._print(click.style("✓".rjust(GUTTER - 1), fg="green") + " " + text)

    def cost(self, spent: Traffic) -> None:
        """What the step cost on the wire."""
        self._total = _each(self._total, spent, 1)
        self._print(" " * GUTTER + click.style(_cost(spent), dim=True))

    def failed(self, text: str) -> None:
        """The step did not come out as it must."""
        if self._label:
            self._print(self._gutter())
        self._print(click.style("✗".rjust(GUTTER - 1) + " " + one_line(text), fg="red", bold=True))

    def finished(self) -> None:
        """The last lines."""
        self._print()
        seconds = time.monotonic() - self._started
        self._print(click.style(f"All {self._steps} steps came out right, in {seconds:.1f} s.", bold=True))
        self._print(click.style(_cost(self._total), dim=True))

    def _gutter(self) -> str:
        """The name of the step, once."""
        label, self._label = self._label, ""
        return click.style(label.ljust(GUTTER), fg="cyan", bold=True)

    def _print(self, text: str = "") -> None:
        click.echo(text, color=self._color)


def spent(before: Traffic, after: Traffic) -> Traffic:
    """What went over the wire between two moments."""
    return _each(after, before, -1)


def _each(first: Traffic, second: Traffic, sign: int) -> Traffic:
    other = attrs.asdict(second)
    return Traffic(**{name: value + sign * other[name] for name, value in attrs.asdict(first).items()})


def _cost(spent: Traffic) -> str:
    out = f"{counted(spent.messages_sent, 'message')} out ({amount(spent.bytes_sent)})"
    return f"cost: {out}, {spent.messages_received} in ({amount(spent.bytes_received)})"


def counted(number: int, what: str) -> str:
    """A number of things."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def differences(before: Mapping[str, Prompt], after: Mapping[str, Prompt]) -> Iterator[str]:
    """A line for each prompt that came, went or changed."""
    for name in sorted({*before, *after}):
        if name not in before:
            yield f"+ {name}"
        elif name not in after:
            yield f"- {name}"
        elif before[name] != after[name]:
            yield f"~ {name}: {', '.join(_changes(before[name], after[name]))}"


def _changes(before: Prompt, after: Prompt) -> Iterator[str]:
    for field in attrs.fields(Prompt):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old != new:
            text = isinstance(old, str) and isinstance(new, str)
            yield f"{field.name} “{old}” → “{new}”" if text else field.name
