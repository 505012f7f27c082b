"""Multi round-trips of a client: requests that are answered by a question (patterns/mrtr).

A server that needs input first answers `input_required`. If it may ask that, and the client has declared
what it asks for, somebody is asked by `InputNeeded`, and the request goes out again with the answers: as a
new request, with a new id and clocks of its own, but as the same call. A state without a question is sent
back at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._calls import Call, Calls
from ._errors import InvalidMessage, LocalProtocolError, TooManyRounds
from ._events import CallId, InputNeeded
from ._input import INPUT_METHODS, missing_capabilities, unknown_requests
from ._json import encode
from ._tables import CallInput, CallState
from ._types import InputRequired

if TYPE_CHECKING:
    from ._client import Client


class RoundTrips:
    """The calls of one client that are asked for input."""

    def __init__(self, client: Client, calls: Calls) -> None:
        self._client = client
        self._config = client.config
        self._calls = calls

    def asked(self, call: Call, wanted: InputRequired, now: float) -> None:
        """A call was answered by a question; `InvalidMessage` if that may not be asked."""
        self._check(call, wanted)
        if call.rounds >= self._config.max_rounds:
            self._calls.end(call, CallInput.ANSWER, TooManyRounds(self._config.max_rounds), now)
            return
        self._calls.ask(call, wanted.requests, wanted.state)
        if wanted.requests:
            self._client.emit(InputNeeded(call.id, wanted.requests, call.rounds, call.op))
        else:
            self._resume(call, b"", now)

    def _check(self, call: Call, wanted: InputRequired) -> None:
        if call.method not in INPUT_METHODS + self._config.input_methods:
            raise InvalidMessage(f"input_required is not allowed for {call.method}", "$.resultType")
        if not wanted.requests and wanted.state is None:
            raise InvalidMessage("input_required with neither inputRequests nor requestState")
        strange = unknown_requests(wanted.requests)
        missing = missing_capabilities(wanted.requests, self._config.capabilities)
        if strange or missing:
            raise InvalidMessage(f"input asked for that was not offered: {strange or sorted(missing)}")

    def provide(self, identity: CallId, answers: Mapping[str, Any], now: float) -> None:
        """The answers are there; raises as `Client.provide_input` says."""
        call = self._calls.find(identity)
        if call is None or call.state is not CallState.ASKED:
            raise LocalProtocolError(f"{identity} waits for no input")
        if set(answers) != set(call.asked or {}):
            raise LocalProtocolError(f"answers wanted for {[*(call.asked or {})]}, got {[*answers]}")
        encoded = b'"inputResponses":' + encode(dict(answers))
        self._resume(call, encoded, self._client.tick(now))

    def _resume(self, call: Call, answers: bytes, now: float) -> None:
        """Send the next leg, with the state of the last answer: without one, "the client MUST NOT include
        one in the retry".
        """
        parts = [answers] if answers else []
        if call.request_state is not None:
            parts.append(b'"requestState":' + encode(call.request_state))
        self._calls.resume(call, b",".join(parts), now)
        self._client.post(call)
