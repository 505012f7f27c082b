"""A machine in virtual time, whatever a test plays at its other end."""

from __future__ import annotations

from typing import TypeVar

from mcp_sansio import Client, Event, Server

E = TypeVar("E")


class Clocked:
    """What it reports, and how time passes for it; time is whatever `now` was last set to."""

    machine: Client | Server
    now: float

    def look(self) -> None:
        """See what it wants to be done, as an adapter does after everything."""

    def events(self) -> list[Event]:
        """The events since the last look."""
        found: list[Event] = []
        while (event := self.machine.next_event()) is not None:
            found.append(event)
        return found

    def of(self, kind: type[E]) -> list[E]:
        """The events of a class since the last look; the others are dropped."""
        return [event for event in self.events() if isinstance(event, kind)]

    def wait(self, seconds: float) -> None:
        """Let time pass, acting on each deadline when it comes."""
        end = self.now + seconds
        self.look()
        while (due := self.machine.next_timeout()) is not None and due <= end:
            self.now = max(self.now, due)
            self.machine.handle_timeout(self.now)
            self.look()
        self.now = end
