"""The ways in which a row is measured: what a turn of a contestant is.

`Steps` are counted inside its process. `Load` is asked of a server by the runner, over many connections.
`Listening` is a change that all listeners hear of, `Footprint` the memory that listeners take. `Client` has a
server that is the same for everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from benchmarks import load, work
from benchmarks.contestant import Contestant, Failed, NotSupported
from benchmarks.row import OURS, Method, Row

MOST_STEPS = 200_000
PATIENCE = 10
"""A turn may take so many times as long as the CPU time that it should spend, where things are waited for."""
Find = Callable[[str], Contestant]
"""Finds another contestant's process, for a server that is everybody's."""


class Turns(Protocol):
    """One contestant at one row. All methods raise `Failed`."""

    def calibrate(self, seconds: float) -> None:
        """Find out how many steps take so long."""
        ...

    def turn(self) -> float:
        """Take them, once; what was spent on one unit."""
        ...

    def finish(self) -> None:
        """Clear up."""
        ...


def check(row: Row, answer: Mapping[str, Any]) -> None:
    """What a contestant has seen must be what was asked for. Raises `Failed`."""
    if answer.get("digest") != work.digest(row.expected(answer.get("revision", 0))):
        raise Failed(f"a wrong answer, which begins with {answer.get('begins')!r}")


def prepare(row: Row, contestant: Contestant, job: str, **params: Any) -> dict[str, Any]:
    """Have a contestant make ready; its answer. Raises `Failed` and `NotSupported`."""
    answer = contestant.say(do="prepare", job=job, params={**row.params, **params})
    if "refused" in answer:
        raise NotSupported(answer["refused"])
    return answer


class Steps:
    """A contestant that counts its own CPU time, of the steps of its job; its children's is read from
    outside.
    """

    def __init__(self, row: Row, contestant: Contestant, _find: Find, **params: Any) -> None:
        """Make ready. Raises `Failed` for a wrong answer."""
        self._row = row
        self._contestant = contestant
        self._times = 1
        self._took = 0.0
        check(row, prepare(row, contestant, row.job, **params))

    def calibrate(self, seconds: float) -> None:
        self.turn()
        while self._took < seconds / 2 and self._times < MOST_STEPS:
            self._times *= 2
            self.turn()
        self._times = max(1, round(self._times * seconds / self._took))

    def turn(self) -> float:
        before = self._contestant.cpu_of_children
        answer = self._contestant.say(do="run", times=self._times)
        children = self._contestant.cpu_of_children - before
        check(self._row, answer)
        spent = float(answer["cpu"]) + children
        self._took = max(spent, float(answer["took"]) / PATIENCE)
        return spent / float(answer["units"])

    def finish(self) -> None:
        self._contestant.say(do="finish")


class Fresh(Steps):
    """A job that must be the first one of its process, every time: one that measures memory."""

    def calibrate(self, seconds: float) -> None:
        """Once is enough."""

    def __init__(self, row: Row, contestant: Contestant, find: Find) -> None:
        contestant.restart()
        super().__init__(row, contestant, find)
        self._used = False

    def turn(self) -> float:
        if self._used:
            self._contestant.restart()
            check(self._row, prepare(self._row, self._contestant, self._row.job))
        self._used = True
        return super().turn()


class Client(Steps):
    """A client, and a server of this library's in another process, which does not count."""

    def __init__(self, row: Row, contestant: Contestant, find: Find) -> None:
        self._server = find(f"{OURS} for {contestant.name}")
        serving = {"over": "http", "prompts": row.params["prompts"], "era": row.params["era"]}
        url = self._server.say(do="prepare", job="http_server", params=serving)["url"]
        super().__init__(row, contestant, find, url=url)

    def finish(self) -> None:
        super().finish()
        self._server.say(do="finish")


@contextmanager
def failing() -> Generator[None]:
    """What a server does wrong makes its contestant fail."""
    try:
        yield
    except (load.BadReply, OSError, EOFError, TimeoutError) as error:
        raise Failed(f"{type(error).__name__}: {error}") from error


class Crowded:
    """What has a server under a crowd of connections in common."""

    def __init__(self, row: Row, contestant: Contestant, _find: Find) -> None:
        self._row = row
        self._contestant = contestant
        params = {name: row.params[name] for name in ("over", "prompts", "era")}
        answer = contestant.say(do="prepare", job=row.job, params=params)
        if "refused" in answer:
            raise NotSupported(answer["refused"])
        self._url = str(answer["url"])
        self._crowd = load.Crowd(self._url, 0)

    def calibrate(self, seconds: float) -> None:
        """One step is enough."""

    def finish(self) -> None:
        self._crowd.close()
        self._contestant.say(do="finish")


class Load(Crowded):
    """A server that is asked over many connections at once."""

    def __init__(self, row: Row, contestant: Contestant, find: Find) -> None:
        super().__init__(row, contestant, find)
        with failing():
            self._crowd = load.Crowd(self._url, row.params["connections"])
        self._request = load.asking(self._url, row.params["method"])
        self._times = int(row.params["connections"])
        with failing():
            self._reply = self._crowd.do(self._crowd.connections[0].ask(self._request))
        seen = work.seen_reply(self._reply)
        check(row, {"digest": work.digest(seen), "begins": str(seen)[:200]})

    def calibrate(self, seconds: float) -> None:
        self.turn()
        spent = self.turn() * self._times
        self._times = max(self._times, round(self._times * seconds / spent))

    def turn(self) -> float:
        before = self._contestant.cpu_of_children
        with failing():
            self._crowd.ask(self._request, self._times, self._reply)
        return (self._contestant.cpu_of_children - before) / self._times


class Listening(Crowded):
    """A server that tells many listeners of a change."""

    def __init__(self, row: Row, contestant: Contestant, find: Find) -> None:
        super().__init__(row, contestant, find)
        self._listeners = int(row.params["listeners"])
        with failing():
            self._crowd = load.Crowd(self._url, 1)
            self._crowd.do(self._crowd.connections[0].ask(load.asking(self._url, "prompts/list")))
            self._quiet = contestant.resident_of_children
            self._crowd.grow(self._listeners)
            self._crowd.listen()
            self._crowd.edit()

    def turn(self) -> float:
        before = self._contestant.cpu_of_children
        with failing():
            self._crowd.edit()
        return (self._contestant.cpu_of_children - before) / self._listeners


class Footprint(Listening):
    """The memory that listeners take, connections included: what the server has grown by."""

    def turn(self) -> float:
        return (self._contestant.resident_of_children - self._quiet) / self._listeners


METHODS: Mapping[Method, Callable[[Row, Contestant, Find], Turns]] = {
    "steps": Steps,
    "client": Client,
    "load": Load,
    "listening": Listening,
    "footprint": Footprint,
    "fresh": Fresh,
}
