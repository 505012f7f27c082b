"""What a client makes HTTP exchanges for: to ask, to tell, and to be pushed to.

An errand decides what becomes of an exchange: which call a reply belongs to, whatever it says of itself;
what a status means where there is no message; and whether another exchange is to follow. A legacy server may
close a stream on which it has given ids and be asked to go on ("the client SHOULD then 'poll' the SSE stream
by attempting to reconnect"); `notifications/initialized` has to arrive; nothing else is sent twice here.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import TYPE_CHECKING

import attrs

from ._errors import HttpFailed, InvalidReply, Lost
from ._events import Diagnostic
from ._http_reply import MEANINGS, Answer, Errand, Headers, Incoming, is_ok
from ._json import Batch, ErrorResponse, Malformed, Recognizes, RequestId, Response
from ._negotiation import CREDENTIALS, may_pass
from ._plain import shown
from ._sse import SseDecoder
from ._url import shown_url
from ._versions import Era

if TYPE_CHECKING:
    from ._http_client import HttpClient

KEPT_METHOD = (307, 308)
MAX_HOPS = 5
SAFE = (
    *("server/discover", "initialize", "ping", "subscriptions/listen"),
    *("prompts/list", "prompts/get", "completion/complete"),
    *("tools/list", "resources/list", "resources/templates/list", "resources/read"),
)
"""Requests that change nothing at the server, so that nothing is done twice if they come twice."""

MAX_FAILURES = 3
"""How often in a row reaching the server may fail before a stream, or a message, is given up."""

NEGOTIATION = ("server/discover", "initialize")
OLD_TRANSPORT = (400, 404, 405)
OLD_TRANSPORT_HINT = (
    "; perhaps the server speaks the HTTP+SSE transport of 2024-11-05 only, which is not supported"
)


class ClientErrand(Errand):
    """An errand of an `HttpClient`."""

    def __init__(self, http: HttpClient, method: str, headers: Headers, body: bytes = b"") -> None:
        self.method = method
        self.target: str = http.target
        self.headers = headers
        self.body = body
        self._http = http
        self._client = http.client
        self.recognizes: Recognizes | None = http.client.recognizes
        self._failures = 0
        self._hops = 0
        self._moved_for_good = True

    @abc.abstractmethod
    def refused(self, status: int, reason: str, now: float) -> None:
        """There will be no answer."""

    def redirected(self, status: int, location: str | None, now: float) -> None:
        """Follow within the server's origin. Other servers are none of ours, least of all to have our
        credentials; and "303 See Other" would be another method.
        """
        target = None if location is None else self._http.resolve(self.target, location)
        if status in KEPT_METHOD and target is not None and self._hops < MAX_HOPS:
            self._hops += 1
            self.target = target
            self._moved_for_good = self._moved_for_good and status == 308
            if self._moved_for_good:  # a place that was reached by the way of a temporary one is none to stay
                self._http.target = target
            self._http.run_again(self, now)
            return
        self._http.finish(self)
        where = "nowhere" if location is None else shown_url(location)
        if target is None:
            why = "it is not at this server"
        elif status not in KEPT_METHOD:
            why = "it is not 307 or 308, which keep the method"
        else:
            why = f"there were {MAX_HOPS} before it"
        self.refused(status, f"redirects to {where}, which is not followed: {why}", now)

    def _try_again(self, now: float, retry: float | None = None) -> bool:
        """Make another exchange, later; not for ever."""
        if self._failures >= MAX_FAILURES:
            return False
        delay = max(self._client.config.delay(self._failures), retry or 0.0)
        self._failures += 1
        self._hops = 0
        self._http.run_again(self, now + delay)
        return True

    def _patience(self, answer: Answer) -> float | None:
        """How long the server asks to be left alone, as far as that is heeded."""
        asked = answer.retry_after
        return None if asked is None else min(asked, self._client.config.backoff_max)


class Asking(ClientErrand):
    """A request, until its response has come or will not come."""

    def __init__(
        self, http: HttpClient, wire_id: RequestId, what: str, headers: Headers, body: bytes
    ) -> None:
        super().__init__(http, "POST", headers, body)
        self.urgent: bool = what == "subscriptions/listen"
        self.repeatable: bool = what in SAFE
        self.id = wire_id
        self._what = what
        self._last_id: str | None = None
        self._done = False

    def heard(self, status: int, session: str | None, now: float, *, streams: bool) -> None:
        if self._what == "initialize" and is_ok(status):
            self._http.session_given(session, now)
        if streams:
            self._failures = 0

    def message(self, message: Incoming, now: float) -> None:
        """What has no id of its own on this stream is about this request."""
        if isinstance(message, ErrorResponse) or (isinstance(message, Malformed) and message.reply):
            message = message if message.id is not None else self._own(message)
        self._take(message, now)
        if not self._done and self.id in _answers(message):
            self._done = True
            self._http.linger(self, now)

    def answered(self, answer: Answer, now: float) -> None:
        if answer.status == 404 and self._http.in_session and self._what != "initialize":
            self._http.session_gone(now)
            return
        self._http.finish(self)
        if self.method == "GET":
            self._client.settle(self.id, Lost(f"the stream cannot be resumed: HTTP {answer.status}"), now)
        else:
            self._read(answer, now)

    def _read(self, answer: Answer, now: float) -> None:
        """A message settles the call, if it is the reply. A server that is in trouble, or does not know us,
        says nothing about the protocol, whatever it says.
        """
        message = answer.message
        deaf = answer.status in CREDENTIALS or (self._what in NEGOTIATION and may_pass(answer.status))
        if answer.ok and message is not None:
            self._take(self._own(message), now)
            self._client.settle(self.id, InvalidReply("the body is not the reply to this request"), now)
        elif isinstance(message, ErrorResponse) and not answer.ok and not deaf:
            self._client.receive(attrs.evolve(message, id=self.id), now)
        else:
            self._client.settle(self.id, self._failed(answer), now)

    def refused(self, status: int, reason: str, now: float) -> None:
        self._client.settle(self.id, HttpFailed(status, reason), now)

    def _take(self, message: Incoming, now: float) -> None:
        """What answers here answers the request of this exchange, and no other, whatever it says."""
        others = [wire_id for wire_id in _answers(message) if wire_id not in (None, self.id)]
        if others:
            text = f"a reply to {shown(others[0])}, in answer to another request"
            self._client.emit(Diagnostic("unknown-reply", text))
        else:
            self._client.receive(message, now)

    def _own(self, message: Incoming) -> Incoming:
        """Errors that do not say whose they are are ours."""
        if isinstance(message, Malformed):
            return attrs.evolve(message, id=self.id, reply=True)
        if isinstance(message, ErrorResponse) and message.id is None:
            return attrs.evolve(message, id=self.id)
        return message

    def _failed(self, answer: Answer) -> HttpFailed:
        reason = answer.text or MEANINGS.get(answer.status, "no message")
        if isinstance(answer.message, ErrorResponse):
            reason = answer.message.error.message
        elif answer.ok and answer.text:
            reason = f"no message, but {answer.text}"
        hint = OLD_TRANSPORT_HINT if self._what == "initialize" and answer.status in OLD_TRANSPORT else ""
        return HttpFailed(answer.status, reason + hint, self._patience(answer))

    def ended(self, reason: str, events: SseDecoder | None, now: float) -> None:
        """The reply is lost, unless it has come, or a legacy server can be asked to go on from an event."""
        retry = None
        if events is not None:
            self._last_id, retry = events.last_id or self._last_id, events.retry
        if not self._done and self._last_id is not None and self._client.era is Era.LEGACY:
            self.method, self.body, self.repeatable = "GET", b"", True
            self.headers = self._http.stream_headers(self._last_id)
            if self._try_again(now, retry):
                return
        self._http.finish(self)
        if not self._done:
            self._client.settle(self.id, Lost(reason), now)


class Telling(ClientErrand):
    """A message that asks for no reply (a notification, or a response), or the end of a session."""

    urgent: bool = True

    def __init__(self, http: HttpClient, method: str, headers: Headers, body: bytes, what: str) -> None:
        super().__init__(http, method, headers, body)
        self._what = what
        self._heard = False

    def heard(self, status: int, session: str | None, now: float, *, streams: bool) -> None:
        """Any 2xx will do; what a body says is of no interest. Who is in trouble for a moment has not heard
        that we are initialized, and would never push anything.
        """
        if self._http.waits_for(self) and may_pass(status) and self._failures < MAX_FAILURES:
            return
        self._heard = True
        self._http.passed(self)
        if status == 404 and self._http.in_session and self.method != "DELETE":
            self._http.session_gone(now)
            return
        self._http.linger(self, now)
        if not is_ok(status):
            self._client.emit(Diagnostic("message-refused", f"{self._what}: HTTP {status}"))

    def refused(self, status: int, reason: str, now: float) -> None:
        self._client.emit(Diagnostic("message-refused", f"{self._what}: HTTP {status} {reason}"))

    def message(self, message: Incoming, now: float) -> None:
        pass

    def answered(self, answer: Answer, now: float) -> None:
        if self._heard:
            self._http.finish(self)
        else:
            self._try_again(now, self._patience(answer))

    def ended(self, reason: str, events: SseDecoder | None, now: float) -> None:
        """A server that has not heard that we are initialized would never push anything: a session in which
        that cannot be said is none.
        """
        if not self._heard and self._http.waits_for(self):
            if not self._try_again(now):
                self._http.session_gone(now)
            return
        self._http.finish(self)
        if not self._heard:
            self._client.emit(Diagnostic("message-lost", f"{self._what}: {reason}"))


class Pushing(ClientErrand):
    """The stream on which a legacy server pushes what belongs to no request."""

    urgent: bool = True

    def __init__(self, http: HttpClient, headers: Headers) -> None:
        super().__init__(http, "GET", headers)

    def heard(self, status: int, session: str | None, now: float, *, streams: bool) -> None:
        if streams:
            self._http.pushed = True
            self._client.channels.push_opened(now)

    def refused(self, status: int, reason: str, now: float) -> None:
        self._client.channels.push_refused(now)

    def message(self, message: Incoming, now: float) -> None:
        self._client.receive(message, now)

    def answered(self, answer: Answer, now: float) -> None:
        """No stream. A 404 ends the session only if there was a stream in it before: it may be the answer of
        a server that has none.
        """
        if answer.status == 404 and self._http.in_session and self._http.pushed:
            self._http.session_gone(now)
            return
        self._http.finish(self)
        if may_pass(answer.status):
            self._client.channels.push_lost(now, self._patience(answer))
        else:
            self._client.channels.push_refused(now)

    def ended(self, reason: str, events: SseDecoder | None, now: float) -> None:
        self._http.finish(self)
        if events is not None:
            self._http.push_id = events.last_id or self._http.push_id
        self._client.channels.push_lost(now, None if events is None else events.retry)


def _answers(message: Incoming) -> Iterable[RequestId | None]:
    """The ids of the requests that a message answers."""
    if isinstance(message, Batch):
        return [answer for part in message.messages for answer in _answers(part)]
    if isinstance(message, Response | ErrorResponse) or (isinstance(message, Malformed) and message.reply):
        return [message.id]
    return []
