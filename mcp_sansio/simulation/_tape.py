"""Every choice of a run, on one labelled tape.

A draw is `bits * n >> 32` of 32 bits that a hash makes of the seed and the label, which is the same on every
machine, in every Python, and costs less than a generator for each label would. Each label has a stream of its
own while a seed is explored, so that a draw that is added in one place reshuffles nothing elsewhere; what was
drawn is one flat record, which replays. 0 always means the calmest
thing, and that nothing more happens: a tape of zeros is a quiet world.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Protocol, TypeAlias, TypeVar

import msgspec

T = TypeVar("T")

Draw: TypeAlias = tuple[str, int, int]
"""A label, the number of possibilities, and which one it was, from 0."""


class Deviated(Exception):
    """A strict replay came to a draw that is not the recorded one."""


class Source(Protocol):
    """Where the values of a tape come from."""

    def next(self, label: str, n: int) -> int:
        """A value from 0 to n - 1."""
        ...


class Stream:
    """The numbers of one label, 32 bits at a time: a block of 16 of them is the hash of its number."""

    __slots__ = ("_bits", "_block", "_key", "_left")

    def __init__(self, key: str) -> None:
        self._key = key
        self._block = 0
        self._bits = 0
        self._left = 0

    def next(self, n: int) -> int:
        """A value from 0 to n - 1."""
        if not self._left:
            self._bits = int.from_bytes(blake2b(f"{self._key} {self._block}".encode()).digest(), "big")
            self._block += 1
            self._left = 16
        value = (self._bits & 0xFFFFFFFF) * n >> 32
        self._bits >>= 32
        self._left -= 1
        return value


class Seeded:
    """Explores: a stream of pseudo-random numbers for each label of a seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, Callable[[int], int]] = {}

    def next(self, label: str, n: int) -> int:
        """A value from 0 to n - 1."""
        stream = self._streams.get(label)
        if stream is None:
            stream = self._streams[label] = Stream(f"{self._seed} {label}").next
        return stream(n)


class Strict:
    """Replays a record, draw by draw; raises `Deviated` at the first one that differs."""

    def __init__(self, record: Iterable[Draw]) -> None:
        self._rest = deque(record)
        self._done = 0

    def next(self, label: str, n: int) -> int:
        """A value from 0 to n - 1."""
        expected = self._rest.popleft() if self._rest else None
        self._done += 1
        if expected is None or expected[:2] != (label, n):
            raise Deviated(f"draw {self._done}: {label} of {n}, recorded was {expected}")
        return expected[2]


class Lenient:
    """Replays what there is of each label, in order, and zeros after that: what a shrinker needs."""

    def __init__(self, record: Iterable[Draw]) -> None:
        self._rest: defaultdict[str, deque[int]] = defaultdict(deque)
        for label, _, value in record:
            self._rest[label].append(value)

    def next(self, label: str, n: int) -> int:
        """A value from 0 to n - 1."""
        rest = self._rest.get(label)
        return min(rest.popleft(), n - 1) if rest else 0


class Tape:
    """Draws from a source, and remembers what it drew."""

    def __init__(self, source: Source) -> None:
        self._next = source.next
        self.record: list[Draw] = []

    def draw(self, label: str, n: int) -> int:
        """A number from 0 to n - 1; of one possibility there is nothing to draw."""
        if n <= 1:
            return 0
        value = self._next(label, n)
        self.record.append((label, n, value))
        return value

    def chance(self, label: str, one_in: int) -> bool:
        """True once in `one_in` times, never if that is 0."""
        return one_in > 0 and self.draw(label, one_in + 1) == one_in

    def one_of(self, label: str, options: Sequence[T]) -> T:
        """One of the options, the calmest first."""
        return options[self.draw(label, len(options))]

    def between(self, label: str, low: int, high: int) -> int:
        """A whole number, both ends included, `low` being the calmest."""
        return low + self.draw(label, high - low + 1)

    def seconds(self, label: str, most: float) -> float:
        """A time from 0 to `most` seconds, in 256 steps."""
        return self.draw(label, 257) * most / 256

    def digest(self) -> str:
        """What identifies all that was drawn."""
        return blake2b(msgspec.json.encode(self.record), digest_size=16).hexdigest()
