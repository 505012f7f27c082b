"""What changed in a list of prompts: which came, which went, and in the others which fields.

A field is what the newest revision of the protocol calls so, and its values are as they are on the wire; what
is absent there is None. For people, a field is followed to the place that differs: arguments and the
like are told apart by their names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

import attrs

from mcp_sansio import Prompt, Snapshot

from .show import one_line, wire

Fields: TypeAlias = Mapping[str, tuple[Any, Any]]
"""The fields that differ, by name: old and new."""


@attrs.frozen
class ListChange:
    """How a list differs from the one before it, or from none (`first`); `time` is Unix time in seconds."""

    epoch: int
    added: tuple[Prompt, ...]
    removed: tuple[str, ...]
    changed: Mapping[str, Fields]
    verified: bool
    time: float
    first: bool = False

    def as_json(self) -> dict[str, Any]:
        """One line of `watch --json`."""
        return {
            "epoch": self.epoch,
            "added": [wire(prompt) for prompt in self.added],
            "removed": [*self.removed],
            "changed": [
                {"name": name, "fields": {field: [*values] for field, values in fields.items()}}
                for name, fields in self.changed.items()
            ],
            "verified": self.verified,
            "time": datetime.fromtimestamp(self.time, UTC).isoformat(timespec="milliseconds"),
        }

    def as_line(self) -> str:
        """One line of `watch` in a pipe: all names, and what differs in the prompts that changed."""
        names = [one_line(prompt.name) for prompt in self.added]
        if self.first:
            said = [f"{len(names)} prompts: {', '.join(names)}" if names else "no prompts"]
        else:
            said = [f"+ {name}" for name in names] + [f"- {one_line(name)}" for name in self.removed]
            said += [f"~ {one_line(name)} ({'; '.join(steps(of))})" for name, of in self.changed.items()]
        doubt = "" if self.verified else " (unverified)"
        return f"{clock(self.time)} {', '.join(said)}{doubt}"


def compared(before: Snapshot | None, after: Snapshot, time: float) -> ListChange | None:
    """What has become of the list `before`; None if nothing has, unless there was none."""
    added, removed, changed = after.difference(before)
    if before is not None and not (added or removed or changed):
        return None
    old: Mapping[str, Prompt] = {} if before is None else before.by_name
    return ListChange(
        after.epoch,
        tuple(after.by_name[name] for name in added),
        removed,
        {name: differing(old[name], after.by_name[name]) for name in changed},
        after.verified,
        time,
        first=before is None,
    )


def differing(old: Prompt, new: Prompt) -> Fields:
    """The fields in which two versions of a prompt differ."""
    before, after = wire(old), wire(new)
    fields = (*after, *(field for field in before if field not in after))
    pairs = {field: (before.get(field), after.get(field)) for field in fields}
    return {field: pair for field, pair in pairs.items() if pair[0] != pair[1]}


def steps(fields: Fields) -> Iterator[str]:
    """A sentence for each place that differs."""
    for path, old, new in places(fields):
        if old is None:
            yield f"{path}: + {quoted(new)}"
        elif new is None:
            yield f"{path}: - {quoted(old)}"
        else:
            yield f"{path}: {quoted(old)} → {quoted(new)}"


def places(fields: Fields) -> Iterator[tuple[str, Any, Any]]:
    """Each place that differs: where it is, and its value before and now."""
    for field, (old, new) in fields.items():
        yield from _places(field, old, new)


def _places(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    before, after = _members(old), _members(new)
    if before is None or after is None or not (before or after):
        yield one_line(path), old, new
        return
    if before == after:
        yield one_line(path), [*before], [*after]  # the order alone
    for key in (*after, *(key for key in before if key not in after)):
        if before.get(key) != after.get(key):
            yield from _one_place(f"{path}.{key}", before.get(key), after.get(key))


def _one_place(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """What came or went as a whole is not taken apart."""
    if old is None or new is None:
        yield one_line(path), old, new
    else:
        yield from _places(path, old, new)


def _members(value: Any) -> Mapping[str, Any] | None:
    """What a value is made of, by name; None for what is no list of named things and no object."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    items = cast("Sequence[Any]", value if isinstance(value, list) else (None,))
    objects = [cast("Mapping[str, Any]", item) for item in items if isinstance(item, Mapping)]
    named = {str(item["name"]): item for item in objects if "name" in item}
    return named if len(named) == len(items) else None


def quoted(value: Any) -> str:
    """A value for people: text in quotation marks, anything else as JSON, nothing as that."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"“{one_line(value)}”"
    return one_line(json.dumps(value, ensure_ascii=False))


def clock(time: float) -> str:
    """The time of day, in this place."""
    return datetime.fromtimestamp(time).astimezone().strftime("%H:%M:%S")
