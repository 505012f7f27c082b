"""The legacy sessions of an HTTP server: who has one, for how long, and how many there may be.

A session is a stream that has no connection of its own; its id is all that a client holds. An idle one
costs this record, its stream, and no timer: there is one timer for all, set for the session that has been
idle for longest. A session with an open exchange is in use and does not expire.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable

import attrs

from ._errors import LocalProtocolError
from ._http_exchange import HttpExchange
from ._json import RequestId
from ._server import Server
from ._stream import Stream

_VISIBLE = re.compile(r"[\x21-\x7e]+")


@attrs.define(eq=False)
class Session:
    """One session; `push` is the exchange of its GET, `exchanges` are all that are open."""

    id: str
    stream: Stream
    push: HttpExchange | None = None
    exchanges: dict[HttpExchange, None] = attrs.field(factory=dict[HttpExchange, None])

    def withdraw(self, wire_id: RequestId) -> None:
        """A request was cancelled: its answer, if that has not been written yet, is none any more."""
        for exchange in [*self.exchanges]:
            exchange.withdraw(wire_id)


class Sessions:
    """All sessions, the one that has been idle for longest first."""

    def __init__(self, server: Server, new_id: Callable[[], str], timeout: float, limit: int) -> None:
        self._server = server
        self._new_id = new_id
        self._timeout = timeout
        self._limit = limit
        self._sessions: dict[str, tuple[Session, float]] = {}

    def new_id(self) -> str:
        """An id for a session to come.

        Raises `LocalProtocolError` for one that is taken or has other than visible ASCII characters.
        """
        made = self._new_id()
        if made in self._sessions or not _VISIBLE.fullmatch(made):
            raise LocalProtocolError("new_session_id must return fresh ids of visible ASCII characters")
        return made

    def make_room(self, now: float) -> bool:
        """Whether one more session fits in, if need be instead of the one that was idle for longest."""
        if len(self._sessions) >= self._limit:
            idle = next((session for session, _ in self._sessions.values() if not session.exchanges), None)
            if idle is None:
                return False
            self.end(idle, "the session made room for another", now)
        return True

    def add(self, session: Session, now: float) -> None:
        """Keep a session from now on."""
        session.stream.on_withdrawn = session.withdraw
        self._touch(session, now)

    def find(self, session_id: str, principal: str | None, now: float) -> Session | None:
        """The session of that id, if it belongs to this principal."""
        session, _ = self._sessions.get(session_id, (None, 0.0))
        if session is None or session.stream.principal != principal:
            return None
        self._touch(session, now)
        return session

    def end(self, session: Session, reason: str, now: float) -> None:
        """End a session and all that goes on in it."""
        del self._sessions[session.id]
        for exchange in [*session.exchanges]:
            exchange.gone(reason)
        session.stream.detach(reason, now)
        if not self._sessions:
            self._server.cancel_timer(self._expire)

    def forget(self) -> None:
        """The server is closed: the streams are over, and nobody will ask for a session any more."""
        self._sessions.clear()
        self._server.cancel_timer(self._expire)

    def _touch(self, session: Session, now: float) -> None:
        self._sessions.pop(session.id, None)
        self._sessions[session.id] = session, self._server.tick(now) + self._timeout
        if len(self._sessions) == 1:
            self._server.set_timer(self._expire, self._sessions[session.id][1])

    def _expire(self, _: Hashable, now: float) -> None:
        """End what has been idle for too long; the timer may be early, for a session was used since."""
        while self._sessions:
            session, deadline = next(iter(self._sessions.values()))
            if deadline > now:
                self._server.set_timer(self._expire, deadline)
                return
            if session.exchanges:
                self._touch(session, now)
            else:
                self.end(session, "the session was idle for too long", now)
