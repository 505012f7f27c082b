"""What applications do in a world: servers' prompts change, clients list, get, complete and give up.

Swarm testing is for the load, too: how often each thing is done, and which kinds of change there are, is
drawn for each run, since a change that comes later would heal most mistakes before the verdict. Time is cut
into slots, and what is done in a slot is two draws of its own, made at the beginning: when, and what. A slot
whose first draw is 0 passes in silence, and no other is moved by that, which is what lets a failure shrink.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from ._client_node import ClientNode
from ._server_node import ServerNode
from ._world import World

NEVER, RARE, OFTEN = 0.0, 10.0, 2.0

CHOICES = 1024
"""So many values has the draw that says what is done in a slot; each kind of act reads it in its own way."""


class Workload:
    """The load on one server and its clients, until a time. `mean` seconds lie between two of a kind. All
    that the server ever has bears its `taint`.
    """

    def __init__(
        self, world: World, server: str, clients: Sequence[str], until: float, *, taint: str = ""
    ) -> None:
        self._world = world
        self._server = server
        self._clients = clients
        self._until = until
        self._taint = taint
        self._version = 0

    # --- the server's prompts ---

    def prompts(self, count: int) -> None:
        """Begin with so many prompts."""
        self._edit(put=[(f"p{number:03}", self._tag()) for number in range(count)])

    def changes(self, mean: float) -> None:
        """Change something now and then; which kinds of change, the tape says."""
        kinds = [self._redefine, self._add, self._remove, self._replace, self._flap, self._burst]
        used = [kind for kind in kinds if self._world.tape.draw(f"swarm {kind.__name__}", 2)]
        if used:
            self.repeat("changes", mean, partial(self._change, used))

    def redefinitions(self, mean: float) -> None:
        """Put one prompt anew now and then, so that the list stays as long as it is."""
        self.repeat("redefinitions", mean, self._redefine)

    def _change(self, kinds: Sequence[Callable[[int], None]], choice: int) -> None:
        rest, kind = divmod(choice, len(kinds))
        kinds[kind](rest)

    def _tag(self) -> str:
        self._version += 1
        return f"{self._taint}v{self._version}"

    def _edit(self, put: Sequence[tuple[str, str]] = (), remove: Sequence[str] = ()) -> None:
        self._world.command(self._server, "edit", put=list(put), remove=list(remove))

    @property
    def _names(self) -> list[str]:
        node = self._world.seats[self._server].node
        return list(node.catalogue.snapshot.entries) if isinstance(node, ServerNode) else []

    def _some(self, choice: int) -> list[str]:
        names = self._names
        return [names[choice % len(names)]] if names else []

    def _redefine(self, choice: int) -> None:
        self._edit([(name, self._tag()) for name in self._some(choice)])

    def _add(self, choice: int) -> None:
        self._edit([(f"n{choice % 1000:03}", self._tag())])

    def _remove(self, choice: int) -> None:
        self._edit(remove=self._some(choice))

    def _replace(self, _choice: int) -> None:
        tag = self._tag()
        self._edit([(f"{name[:4]}.{tag}", tag) for name in self._names], remove=self._names)

    def _flap(self, choice: int) -> None:
        name, world = f"f{self._version:03}", self._world
        self._edit([(name, self._tag())])
        pause = choice % 64 * 0.003
        world.at(world.now + pause, lambda: self._edit(remove=[n for n in self._names if n == name]))

    def _burst(self, choice: int) -> None:
        for number in range(2 + choice % 8):
            self._world.at(self._world.now + number * 0.003, partial(self._redefine, choice + number))

    # --- the clients ---

    def reads(self, mean: float) -> None:
        """Every client asks for the list now and then; sometimes a stale one is good enough."""
        for name in self._clients:
            self.repeat(f"{name} lists", mean, partial(self._list, name))

    def _list(self, client: str, choice: int) -> None:
        if choice % 4 == 3:
            self._world.command(client, "list", stale_ok=True)
        else:
            self._world.command(client, "list")

    def bounds(self, mean: float) -> None:
        """Every client asks for the list at the very moment at which what it has expires."""
        for name in self._clients:
            self.repeat(f"{name} at the bound", mean, partial(self._at_the_bound, name))

    def _at_the_bound(self, client: str, _choice: int) -> None:
        seat = self._world.seats[client]
        expires = seat.node.expires if isinstance(seat.node, ClientNode) else math.inf
        if math.isfinite(expires) and seat.clock.world(expires) < self._until:
            self._world.at(seat.clock.world(expires), partial(self._world.command, client, "list"))

    def principals(self, mean: float) -> None:
        """Every client is somebody else's now and then."""
        for name in self._clients:
            self.repeat(f"{name} is another's", mean, partial(self._principal, name))

    def _principal(self, client: str, choice: int) -> None:
        who = f"user{choice % 3}"
        self._world.command(self._server, "login", client=client, who=who)
        self._world.command(client, "principal", who=who)

    def refreshes(self, mean: float) -> None:
        """Every client insists on a new list now and then."""
        for name in self._clients:
            self.repeat(f"{name} refreshes", mean, partial(self._command, name, "refresh"))

    def _command(self, client: str, verb: str, _choice: int) -> None:
        self._world.command(client, verb)

    def gets(self, mean: float) -> None:
        """Every client renders a prompt that it knows of, or one that it does not."""
        for name in self._clients:
            self.repeat(f"{name} gets", mean, partial(self._get, name))

    def _get(self, client: str, choice: int) -> None:
        node = self._world.seats[client].node
        held = node.names if isinstance(node, ClientNode) else ()
        known = [*held, *self._some(choice), "unknown"]
        self._world.command(client, "get", name=known[choice % len(known)])

    def completions(self, mean: float) -> None:
        """Every client completes an argument now and then."""
        for name in self._clients:
            self.repeat(f"{name} completes", mean, partial(self._complete, name))

    def _complete(self, client: str, choice: int) -> None:
        self._world.command(client, "complete", name=(self._some(choice) or ["unknown"])[0], value="a")

    def cancels(self, mean: float) -> None:
        """Every client gives up on something now and then."""
        for name in self._clients:
            self.repeat(f"{name} cancels", mean, partial(self._cancel, name))

    def _cancel(self, client: str, choice: int) -> None:
        self._world.command(client, "cancel", back=choice % 4)

    # --- time ---

    def repeat(self, label: str, mean: float, action: Callable[[int], None]) -> None:
        """Do something once in each `mean` seconds, until the end; never if that is 0."""
        world, begin = self._world, self._world.now
        while mean > 0 and begin < self._until:
            when, choice = world.tape.draw(label, 257), world.tape.draw(f"{label}: what", CHOICES)
            if when:
                world.at(begin + when * mean / 256, partial(action, choice))
            begin += mean
