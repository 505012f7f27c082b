"""Code on trio as a node of a simulated world, with the world's clock and the world's connections.

    async def client(world: Party) -> None:
        async with connect(await world.connect("server"), on_event=world.told) as client:
            async for verb, data in world.commands():
                if verb == "list":
                    await client.list_prompts()

    with TrioNode(client, "client", seed=7) as node:
        world.add("c1", node)

Trio runs in guest mode, and the world is its host: whenever the node is told something, trio's loop is turned
until no task can go on, and its next deadline is the node's. No thread is started, for nobody ever waits.

What trio has no public way for is pinned while a node lives: the order in which tasks run comes from
`trio._core._run._r`, which is seeded, and follows from that only with `_ALLOW_DETERMINISTIC_SCHEDULING`.
Both names are private; `Unpinned` is raised where they are gone. The code itself must ask nobody else for
time and chance, and start no threads: the adapters' own clock is the world's meanwhile, `jitter` is the
caller's to give, and prompts are served by functions that do not block. Trio runs once in a thread, so there
is one such node at a time; and `trio.testing.wait_all_tasks_blocked` never returns.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Container, Coroutine, Generator, Iterable, Mapping
from contextlib import contextmanager
from random import Random
from types import TracebackType
from typing import Any, Self, TypeAlias

import trio
from trio._core import _run as pinned  # pyright: ignore[reportPrivateUsage]  # see above

from mcp_sansio import Event
from mcp_sansio._reports import Report, report
from mcp_sansio._trace import NODE
from mcp_sansio.simulation._node import Action, Dial, Hangup, Node, Write

from ._defaults import shown_by

__all__ = ["Party", "TrioNode", "Unpinned", "WorldStream"]

FLAG = "_ALLOW_DETERMINISTIC_SCHEDULING"
DICE = "_r"
TICKS = 1_000_000
"""After so many turns of trio's loop without any time passing, something spins."""

Main: TypeAlias = "Callable[[Party], Coroutine[Any, Any, object]]"
"""What a node does, from its start on."""


class Unpinned(Exception):
    """This trio has not, or no longer, what makes its scheduling reproducible."""


class _Clock(trio.abc.Clock, trio.abc.Instrument):
    """Shows what the world says, and never waits: whoever asks how long learns that it is time to look.

    `quiet` counts the turns of the loop in which no task could go on, nor will one before `due`.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.due = math.inf
        self.quiet = 0

    def start_clock(self) -> None:
        """Nothing to do: it is the world's."""

    def current_time(self) -> float:
        """The time of the node."""
        return self.now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """No time at all. Trio asks when no task can go on, which is when the world goes on."""
        self.due = deadline
        self.quiet = self.quiet + 1 if deadline > self.now else 0
        return 0.0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """A task goes on."""
        self.quiet = -1


class WorldStream(trio.abc.Stream):
    """A connection of a world."""

    def __init__(self, party: Party, conn: str) -> None:
        self.conn = conn
        self._party = party
        self._input = bytearray()
        self._end: str | None = None
        self._closed = False
        self._news = trio.Event()
        self.room = trio.Event()
        self.room.set()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Write, and wait while the connection holds all that it can."""
        await trio.lowlevel.checkpoint()
        self._check()
        self.room = trio.Event()
        self._party.act(Write(self.conn, bytes(data)))
        await self.room.wait()

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until there is room."""
        await self.room.wait()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """What has come; nothing at the end."""
        await trio.lowlevel.checkpoint()
        while self._closed or not (self._input or self._end):
            self._check()
            self._news = trio.Event()
            await self._news.wait()
        if not self._input and self._end != "eof":
            raise trio.BrokenResourceError(self._end)
        data = bytes(self._input[:max_bytes])
        del self._input[: len(data)]
        return data

    async def aclose(self) -> None:
        """Close."""
        if not self._closed:
            self._closed = True
            self._party.act(Hangup(self.conn))
            self._news.set()
        await trio.lowlevel.checkpoint()

    def feed(self, data: bytes, end: str | None = None) -> None:
        """Something has come, or the end."""
        self._input += data
        self._end = self._end or end
        self._news.set()
        if end is not None:
            self.room.set()

    def _check(self) -> None:
        if self._closed:
            raise trio.ClosedResourceError
        if self._end not in (None, "eof"):
            raise trio.BrokenResourceError(self._end)


class Party:
    """The world, as code on trio sees it. `observe` may be set to what tells the state when all is quiet."""

    def __init__(self, name: str, anew: Callable[[], None], dials: int = 0) -> None:
        self.name = name
        self.dials = dials
        self._anew = anew
        self.observe: Callable[[], Mapping[str, Any]] = dict
        self.actions: deque[Action] = deque()
        self.streams: dict[str, WorldStream] = {}
        self._dialled: dict[str, trio.Event] = {}
        self._accepted, self._accepting = trio.open_memory_channel[WorldStream](math.inf)
        self._asked, self._asking = trio.open_memory_channel[tuple[str, Mapping[str, Any]]](math.inf)

    async def connect(self, to: str) -> WorldStream:
        """A connection to another node. Raises `OSError` if it cannot be had."""
        self.dials += 1
        conn = f"{self.name}-{self.dials}"
        opened = self._dialled[conn] = trio.Event()
        self.act(Dial(conn, to))
        await opened.wait()
        stream = self.streams.get(conn)
        if stream is None:
            raise ConnectionRefusedError(f"{to} cannot be reached")
        return stream

    def connections(self) -> AsyncIterator[WorldStream]:
        """The connections that others open."""
        return self._accepting

    def commands(self) -> AsyncIterator[tuple[str, Mapping[str, Any]]]:
        """What the workload wants to be done: verbs, and what they are about."""
        return self._asking

    def report(self, kind: str, **fields: Any) -> None:
        """Tell the checkers what the application knows."""
        self.act(Report(kind, fields))

    def anew(self) -> None:
        """Tell the checkers that another client or server takes the place of the one before, which it has no
        memory of.
        """
        self._anew()

    def told(self, event: Event) -> None:
        """Tell the checkers of an event of the library, as `on_event`."""
        self.act(report(event))

    def act(self, action: Action) -> None:
        """Have something done."""
        self.actions.append(action)

    # --- for the node ---

    def opened(self, conn: str) -> None:
        """A connection can be used; who asked for it may be gone."""
        dialled = self._dialled.pop(conn, None)
        if dialled is None and conn.startswith(f"{self.name}-"):
            self.act(Hangup(conn))
            return
        stream = self.streams[conn] = WorldStream(self, conn)
        if dialled is None:
            self._accepted.send_nowait(stream)
        else:
            dialled.set()

    def closed(self, conn: str, how: str) -> None:
        """A connection is over, or there will be none."""
        stream = self.streams.get(conn)
        if stream is not None:
            stream.feed(b"", how)
        elif conn in self._dialled:
            self._dialled.pop(conn).set()

    def asked(self, verb: str, data: Mapping[str, Any]) -> None:
        """The workload wants something."""
        self._asked.send_nowait((verb, data))


class TrioNode(Node):
    """Runs `main` on trio, from the start of the node until `close`, which a `with` block calls; anew after a
    crash. What it raises is raised where the world is told something. `seed` decides the order of tasks.
    """

    def __init__(self, main: Main, role: str = "node", *, seed: int = 0) -> None:
        self.role = role
        self._main = main
        self._seed = seed
        self._pins: Any = None
        self._clock = _Clock()
        self._ticks: deque[Callable[[], object]] = deque()
        self._party = Party("", self._begin)
        self._scope = trio.CancelScope()
        self._running = False
        self._outcome: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it: what runs is cancelled, and given all the time that it takes to end."""
        self._scope.cancel()
        while self._lives():
            self._turn(self._clock.now)
            if self._lives() and self._clock.due == math.inf:
                raise RuntimeError(f"{self.name} does not end")
            self._clock.now = max(self._clock.now, self._clock.due)

    # --- what the world tells ---

    def start(self, now: float) -> None:
        """Begin, or begin anew."""
        self.close()
        self._pins = _pinned(self._seed, self._clock)
        self._pins.__enter__()
        self._clock.now, self._clock.due = now, math.inf
        self._party = Party(self.name, self._begin, self._party.dials)
        self._scope = trio.CancelScope()
        try:
            trio.lowlevel.start_guest_run(
                self._run,
                run_sync_soon_threadsafe=self._ticks.append,
                done_callback=self._done,
                host_uses_signal_set_wakeup_fd=True,
                restrict_keyboard_interrupt_to_checkpoints=True,
                clock=self._clock,
                instruments=[self._clock],
            )
        except RuntimeError:  # trio runs already
            self._pins.__exit__(None, None, None)
            raise
        self._running = True
        self._turn(now)

    def opened(self, conn: str, now: float) -> None:
        """A connection can be used."""
        self._party.opened(conn)
        self._turn(now)

    def receive(self, conn: str, data: bytes, now: float) -> None:
        """Bytes have arrived."""
        stream = self._party.streams.get(conn)
        if stream is not None:
            stream.feed(data)
        self._turn(now)

    def closed(self, conn: str, how: str, now: float) -> None:
        """A connection is over."""
        self._party.closed(conn, how)
        self._turn(now)

    def next_timeout(self) -> float | None:
        """Trio's next deadline."""
        return self._clock.due if self._lives() and self._clock.due < math.inf else None

    def handle_timeout(self, now: float) -> None:
        """The deadline has come."""
        self._turn(now)

    def command(self, verb: str, data: Mapping[str, Any], now: float) -> None:
        """The workload wants something."""
        self._party.asked(verb, data)
        self._turn(now)

    def actions(self, now: float, full: Container[str]) -> Iterable[Action]:
        """What the code wants done. Who has written goes on where there is room."""
        while True:
            while self._party.actions:
                yield self._party.actions.popleft()
            freed = [s for conn, s in self._party.streams.items() if conn not in full and not s.room.is_set()]
            for stream in freed:
                stream.room.set()
            if not freed:
                return
            self._turn(now)

    def observe(self) -> Mapping[str, Any]:
        """What the code says of its state."""
        return self._party.observe()

    def _begin(self) -> None:
        self.note(NODE, "", self.role)

    # --- trio ---

    async def _run(self) -> None:
        with self._scope:
            await self._main(self._party)

    def _turn(self, now: float) -> None:
        """Let trio go on until no task can."""
        self._clock.now = now
        self._clock.quiet = 0
        for _ in range(TICKS):
            if not self._lives() or self._clock.quiet > 1:  # what was said to the loop itself has been heard
                return
            self._ticks.popleft()()
            if not self._lives():
                self._outcome.unwrap()
        raise RuntimeError(f"{self.name} never waits")

    def _lives(self) -> bool:
        return self._running

    def _done(self, outcome: Any) -> None:
        self._running = False
        self._outcome = outcome
        self._pins.__exit__(None, None, None)


@contextmanager
def _pinned(seed: int, clock: _Clock) -> Generator[None]:
    """For the block trio's scheduling follows from the seed, and the adapters' time is the world's."""
    before, dice = getattr(pinned, FLAG, None), getattr(pinned, DICE, None)
    if before is None or not isinstance(dice, Random):
        raise Unpinned(f"trio {trio.__version__} has no {FLAG}, or no {DICE} to be seeded")
    state = dice.getstate()
    setattr(pinned, FLAG, True)
    dice.seed(seed)
    try:
        with shown_by(clock.current_time):
            yield
    finally:
        setattr(pinned, FLAG, before)
        dice.setstate(state)
