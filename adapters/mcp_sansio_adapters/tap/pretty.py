"""A conversation as a person reads it: records in, lines of text out.

A block for each message: how long ago everything began, which way it went, its method and id, then what it
says, indented and shortened. A reply is shown with the method of its request, and how long that took.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mcp_sansio._plain import is_array, is_object, text

from .records import CHILD_ERRORS, FROM_SERVER, TAP, TO_SERVER, Record, noted

ARROWS = {TO_SERVER: "→", FROM_SERVER: "←", CHILD_ERRORS: "!", TAP: "·"}
COLOURS = {TO_SERVER: "36", FROM_SERVER: "32", CHILD_ERRORS: "33", TAP: "2"}
FAILED = "31"

MAX_PENDING = 1000
"""How many requests are remembered until they are answered."""

MAX_TEXT = 200
MAX_ITEMS = 8
MAX_DEPTH = 6


class Pretty:
    """Shows one conversation that began at `start`. With `colour`, lines have escape sequences. With `errors`
    the server's stderr is shown, which is in vain where it comes by itself.
    """

    def __init__(self, start: float, *, colour: bool = False, errors: bool = True) -> None:
        self._start = start
        self._colour = colour
        self._errors = errors
        self._pending: dict[tuple[str, str], tuple[str, float]] = {}

    def show(self, record: Record) -> Iterator[str]:
        """The lines for one record."""
        if record.direction == CHILD_ERRORS and not self._errors:
            return
        message = None if record.direction == TAP else record.message()
        if record.direction == TAP:
            yield self._headline(record, ", ".join(_noted(noted(record))))
        elif message is None:
            yield self._headline(record, _line(record))
        elif is_array(message):
            yield self._headline(record, f"a batch of {len(message)}")
            for part in message[:MAX_ITEMS]:
                yield from self._block(record, part)
        else:
            yield from self._block(record, message)

    def _block(self, record: Record, message: Any) -> Iterator[str]:
        """A message; what is none is shown as it is."""
        fields = message if is_object(message) else {"": message}
        method, number = text(fields.get("method")), fields.get("id")
        if method is not None:
            asked = "" if number is None else f" #{_value(number)}"
            if number is not None:
                self._ask(record, number, method)
            yield self._headline(record, f"{harmless(method)}{asked}")
            yield from _indented(fields.get("params"))
        elif "result" in fields or "error" in fields:
            yield from self._reply(record, fields)
        else:
            yield self._headline(record, "no message of JSON-RPC")
            yield from _indented(message)

    def _ask(self, record: Record, number: Any, method: str) -> None:
        if len(self._pending) >= MAX_PENDING:
            del self._pending[next(iter(self._pending))]
        self._pending[record.direction, json.dumps(number)] = method, record.time

    def _reply(self, record: Record, fields: dict[str, Any]) -> Iterator[str]:
        number = fields.get("id")
        asker = TO_SERVER if record.direction == FROM_SERVER else FROM_SERVER
        asked = self._pending.pop((asker, json.dumps(number)), None)
        what = f"#{_value(number)}, which nobody asked for"
        if asked is not None:
            method, since = asked
            what = f"{harmless(method)} #{_value(number)} after {_span(record.time - since)}"
        error = fields.get("error")
        if error is None:
            yield self._headline(record, what)
            yield from _indented(fields.get("result"))
        else:
            yield self._headline(record, f"{what} FAILED", failed=True)
            yield from _indented(error)

    def _headline(self, record: Record, what: str, *, failed: bool = False) -> str:
        head = f"{record.time - self._start:9.3f} {ARROWS[record.direction]}"
        if not self._colour:
            return f"{head} {what}"
        colour = FAILED if failed else COLOURS[record.direction]
        return f"\x1b[2m{head[:-1]}\x1b[0m\x1b[{colour}m{head[-1]} {what}\x1b[0m"


def harmless(text: str) -> str:
    """The text with escapes in place of what a terminal would obey."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _line(record: Record) -> str:
    """What is no message."""
    said = record.text()
    size = len(record.line) if record.size is None else record.size
    if said is None:
        return f"{size} bytes that are no text"
    shown = harmless(_cut(said))
    return shown if record.size is None else f"a line of {size} bytes: {shown}"


def _noted(what: dict[str, Any]) -> Iterator[str]:
    for name, value in what.items():
        words = " ".join(str(each) for each in value) if is_array(value) else str(value)
        yield f"{name} {harmless(_cut(words))}"


def _span(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _value(value: Any) -> str:
    return harmless(_cut(json.dumps(value, ensure_ascii=False)))


def _indented(value: Any) -> Iterator[str]:
    """A value, and where that takes more than a line its parts."""
    if value is None or value == {}:
        return
    whole = json.dumps(short := _shortened(value, MAX_DEPTH), ensure_ascii=False)
    lines = [whole] if len(whole) <= 80 else json.dumps(short, ensure_ascii=False, indent=2).split("\n")
    for line in lines:
        yield f"{'':12}{harmless(line)}"


def _shortened(value: Any, depth: int) -> Any:
    """The value without what is too much: of long texts, long lists and deep ones."""
    if isinstance(value, str):
        return _cut(value)
    if not depth and (is_object(value) or is_array(value)):
        return "…"
    if is_object(value):
        some = {_cut(name): _shortened(each, depth - 1) for name, each in [*value.items()][:MAX_ITEMS]}
        return {**some, "…": f"{len(value) - MAX_ITEMS} more"} if len(value) > MAX_ITEMS else some
    if is_array(value):
        parts = [_shortened(each, depth - 1) for each in value[:MAX_ITEMS]]
        return [*parts, f"… {len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else parts
    return value


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… {len(text) - MAX_TEXT} more"
