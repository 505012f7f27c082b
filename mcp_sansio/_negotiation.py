"""Finding out which era a server speaks, and agreeing on a revision.

A client that may speak both eras asks `server/discover` first, never a method that both eras have. A
result, or an error that only modern servers know, means modern; any other answer means legacy; so does
silence, after a time of its own ("the fallback MUST NOT be keyed to one specific error code"). The
probe is never cancelled: if the handshake that follows the silence fails and the probe is answered
after all, in whatever order, the server is modern. A verdict of an earlier run skips the probe; when it
fails, in whichever way, one new probe is made.

What a modern server answers is cached by its own hint. Since "calling `server/discover` is optional", nothing
that is declared waits for a newer answer; but before anything is refused by one that is stale, it is asked
for again.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, TypeGuard

from ._calls import Call, Limits, Outcome, encode_members
from ._contract import Send
from ._errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
    Cancelled,
    Closed,
    HttpFailed,
    InvalidMessage,
    Lost,
    RpcError,
)
from ._events import Negotiated, NegotiationFailed, Verdict
from ._json import members as object_members
from ._json import notification_bytes
from ._meta import CLIENT_CAPABILITIES, CLIENT_INFO, VERSION
from ._plain import member
from ._structure import unstructure
from ._tables import NEGOTIATION, Negotiation, NegotiationInput
from ._versions import Era
from ._welcome import Welcome, described, read_discover, read_initialize, texts

if TYPE_CHECKING:
    from ._client import Client

MODERN_ERRORS = (HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION)
NOTHING_IN_COMMON = "no common protocol version"
MAX_LOSSES = 3
CREDENTIALS = (401, 403, 407)
"""The HTTP statuses that say something about our credentials, and so nothing about anything else."""


_ERAS = {Negotiation.MODERN: Era.MODERN, Negotiation.LEGACY: Era.LEGACY}


class Negotiator:
    """Finds out what is known of one client's server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._config = client.config
        self._state = NEGOTIATION.start
        self._verdict = client.config.verdict
        self._probe: Call | None = None
        self._tried: tuple[str, ...] = ()
        self._assumed = False  # by the verdict, without a probe
        self._failure: NegotiationFailed | None = None  # of initialize; the probe is the last hope then
        self._late: Outcome | None = None
        self._doubt = ""
        self._losses = 0
        self._version_probed = ""
        self._checked = self._expires = -math.inf
        self.meta = b""

    def start(self, now: float) -> None:
        """A carrier is there: ask."""
        modern, legacy = self._config.of_era(Era.MODERN), self._config.of_era(Era.LEGACY)
        known = self._verdict.version if self._verdict is not None else None
        self._tried, self._failure, self._late, self._doubt = (), None, None, ""
        self._losses, self._assumed = 0, known in legacy
        if known in legacy:
            self._shake(known, now)
        elif modern:
            self._discover(known if known in modern else modern[0], now)
        else:
            self._shake(legacy[0], now)

    def detach(self) -> None:
        """The carrier is gone; what was found out is kept as the verdict for the next one."""
        self._move(NegotiationInput.DETACH)
        self._probe = None
        self._cancel_timers()
        self._client.version, self.meta = None, b""

    def close(self) -> None:
        """Nothing is asked any more."""
        if self._state is not Negotiation.FAILED:
            self._move(NegotiationInput.CLOSE)
        self._cancel_timers()

    def _cancel_timers(self) -> None:
        self._client.cancel_timer(self._silent)
        for method in ("server/discover", "initialize"):
            self._client.cancel_timer(self._ask_again, method)

    def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
        """The probe or the handshake is over."""
        if isinstance(outcome, Closed | Cancelled) or self._state is Negotiation.DOWN:
            return
        if self._state is Negotiation.MODERN:
            self._rechecked(outcome, now)
        elif isinstance(outcome, Lost) or (isinstance(outcome, HttpFailed) and not _is_evidence(outcome)):
            self._unheard(call, outcome, now)
        elif call is self._probe:
            self._probe = None
            self._client.cancel_timer(self._silent)
            self._probed(outcome, now)
        else:
            self._shaken(outcome, now)

    def _unheard(self, call: Call, outcome: Lost | HttpFailed, now: float) -> None:
        """One exchange failed, which is no evidence about the era. A loss or a server's trouble may pass,
        so the same is asked again, within a bound; a refusal of our credentials will not.
        """
        if call is self._probe:
            self._probe = None
            self._client.cancel_timer(self._silent)
            if self._state is Negotiation.OVERLAP:
                return  # the handshake is under way
        passing = isinstance(outcome, Lost) or may_pass(outcome.status)
        if passing and self._losses < MAX_LOSSES:
            asked = outcome.retry_after if isinstance(outcome, HttpFailed) else None
            delay = max(self._config.delay(self._losses), asked or 0.0)
            self._client.set_timer(self._ask_again, now + delay, call.method)
            self._losses += 1
        elif self._late is None or not self._fall_forward(self._late, now):
            reason = f"no answer to {call.method}: {described(outcome)}"
            self._fail(NegotiationFailed(reason, status=_status(outcome)), now)

    def _ask_again(self, method: Hashable, now: float) -> None:
        if method == "initialize":
            version, self._tried = self._tried[-1], self._tried[:-1]
            self._shake(version, now)
        else:
            self._discover(self._version_probed, now)

    def _move(self, event: NegotiationInput) -> None:
        self._state = NEGOTIATION.next(self._state, event)
        self._client.era = _ERAS.get(self._state)

    # --- server/discover ---

    def _discover(self, version: str, now: float) -> None:
        self._move(NegotiationInput.PROBE)
        self._version_probed = version
        if self._probe is None:  # one at a time: else its answer is awaited once more
            self._probe = self._client.open_call(
                "server/discover", b"", now, limits=Limits(), owner=self, urgent=True
            )
            self._probe.meta = self._meta(version)
        self._client.set_timer(self._silent, now + self._config.probe_timeout)

    def _silent(self, _: Hashable, now: float) -> None:
        legacy = self._config.of_era(Era.LEGACY)
        if self._failure is not None:
            self._fail(self._failure, now)
        elif legacy:
            self._move(NegotiationInput.SILENCE)
            self._send_initialize(legacy[0], now)
        else:
            self._fail(NegotiationFailed("no answer to server/discover"), now)

    def _probed(self, outcome: Outcome, now: float) -> None:
        if self._state is Negotiation.OVERLAP:
            self._late = outcome
        elif _is_modern(outcome):
            self._refused(outcome, now)
        else:
            self._judge(outcome, now)

    def _judge(self, outcome: Outcome, now: float) -> None:
        """A `DiscoverResult` means modern; "the server returns any other error: the server is legacy"."""
        try:
            welcome = read_discover(outcome)
        except InvalidMessage as error:
            self._fall_back(str(error), outcome, now)
            return
        if self._adopt_modern(welcome, now):
            return
        if any(version in welcome.versions for version in self._config.of_era(Era.LEGACY)):
            self._fall_back("it lists legacy versions only", outcome, now)
        else:
            self._fail(NegotiationFailed(NOTHING_IN_COMMON, supported=welcome.versions), now)

    def _refused(self, error: RpcError, now: float) -> None:
        """Try again: "the client retries with a supported version rather than falling back". Once per
        version, even if it is the version just tried.
        """
        supported = _supported(error)
        modern = self._config.of_era(Era.MODERN)
        offers = [v for v in modern if v in supported] if error.code == UNSUPPORTED_VERSION else modern[:1]
        untried = [version for version in offers if version not in self._tried]
        if untried:
            self._tried += (untried[0],)
            self._discover(untried[0], now)
        elif error.code == UNSUPPORTED_VERSION:
            self._fail(NegotiationFailed(NOTHING_IN_COMMON, error, supported), now)
        else:
            self._fail(NegotiationFailed(f"server/discover failed: {described(error)}", error), now)

    def _adopt_modern(self, welcome: Welcome, now: float) -> bool:
        mutual = [version for version in self._config.of_era(Era.MODERN) if version in welcome.versions]
        if mutual:
            self._move(NegotiationInput.DISCOVERED)
            self.meta = self._meta(mutual[0])
            self._agree(Era.MODERN, mutual[0], welcome, now)
        return bool(mutual)

    def _fall_back(self, reason: str, outcome: Outcome, now: float) -> None:
        legacy = self._config.of_era(Era.LEGACY)
        if legacy:
            self._doubt = f" (and server/discover: {reason})"
            self._shake(legacy[0], now)
        else:
            error = outcome if isinstance(outcome, RpcError) else None
            reason = f"the server is not modern: {reason}"
            self._fail(NegotiationFailed(reason, error, status=_status(outcome)), now)

    def recheck(self, now: float) -> bool:
        """Ask again if the answer is stale; whether there will be another. At one moment it is asked once."""
        if self._state is not Negotiation.MODERN:
            return False
        if self._probe is None and now >= self._expires and now > self._checked:
            limits = Limits(total=self._config.probe_timeout)
            self._probe = self._client.open_call(
                "server/discover", b"", now, limits=limits, owner=self, urgent=True
            )
        return self._probe is not None

    def _rechecked(self, outcome: Outcome, now: float) -> None:
        """Clients "MAY serve stale responses if errors occur during re-fetching"."""
        self._probe = None
        self._checked = now
        if not self._fall_forward(outcome, now):
            self._client.negotiated(now)

    # --- initialize ---

    def _shake(self, version: str, now: float) -> None:
        self._move(NegotiationInput.SHAKE)
        self._send_initialize(version, now)

    def _send_initialize(self, version: str, now: float) -> None:
        self._tried += (version,)
        params = {
            "protocolVersion": version,
            "capabilities": dict(self._config.capabilities),
            "clientInfo": unstructure(self._config.info, version),
        }
        self._client.open_call("initialize", encode_members(params), now, owner=self, urgent=True)

    def _shaken(self, outcome: Outcome, now: float) -> None:
        try:
            welcome = read_initialize(outcome)
        except InvalidMessage as error:
            self._not_welcome(f"initialize failed: {error}", outcome, now)
            return
        version = welcome.versions[0]
        if version in self._config.of_era(Era.LEGACY):
            self._welcomed(version, welcome, now)
        else:
            reason = f"the server answered with protocol version {version!r}"
            self._not_welcome(reason, outcome, now, (version,))

    def _welcomed(self, version: str, welcome: Welcome, now: float) -> None:
        self._move(NegotiationInput.WELCOMED)
        if self._probe is not None:
            self._client.cancel(self._probe.id, now)
        self._client.post_urgent(
            Send(notification_bytes("notifications/initialized", None, None), "notifications/initialized")
        )
        self._agree(Era.LEGACY, version, welcome, now)

    def _not_welcome(
        self, reason: str, outcome: Outcome, now: float, supported: tuple[str, ...] = ()
    ) -> None:
        """The handshake failed: perhaps the server is modern after all, or wants an older version."""
        if self._late is not None and self._fall_forward(self._late, now):
            return
        error = outcome if isinstance(outcome, RpcError) else None
        failure = NegotiationFailed(
            reason + self._doubt, error, supported or _supported(error), _status(outcome)
        )
        older = self._older(error)
        if self._may_reprobe(error):
            self._probe_again(failure, now)
        elif older is not None:
            self._shake(older, now)
        elif self._probe is not None and self._failure is None:
            self._probe_again(failure, now)
        else:
            self._fail(failure, now)

    def _probe_again(self, failure: NegotiationFailed, now: float) -> None:
        self._failure = failure
        self._discover(self._config.of_era(Era.MODERN)[0], now)

    def _fall_forward(self, late: Outcome, now: float) -> bool:
        try:
            return self._adopt_modern(read_discover(late), now)
        except InvalidMessage:
            return False

    def _may_reprobe(self, error: RpcError | None) -> bool:
        """A verdict that was handed in gets one new probe, and so does a modern error."""
        evidence = _is_modern(error) or _is_modern(self._late)
        possible = self._failure is None and bool(self._config.of_era(Era.MODERN))
        return (evidence or self._assumed) and possible

    def _older(self, error: RpcError | None) -> str | None:
        """The one other version that is worth offering after a refusal, if there is one."""
        if error is None or error.code != INVALID_PARAMS:
            return None
        untried = [v for v in self._config.of_era(Era.LEGACY) if v not in self._tried]
        supported = _supported(error)
        offers = [version for version in untried if not supported or version in supported]
        asked = sum(version in self._config.of_era(Era.LEGACY) for version in self._tried)
        return offers[0] if offers and asked < 2 else None

    # --- the end ---

    def _agree(self, era: Era, version: str, welcome: Welcome, now: float) -> None:
        self._checked, self._expires = now, now + welcome.ttl
        client = self._client
        client.version, client.capabilities, client.server_info = (
            version,
            welcome.capabilities,
            welcome.server_info,
        )
        self._verdict = Verdict(era, version)
        self._client.emit(
            Negotiated(era, version, welcome.capabilities, welcome.server_info, welcome.instructions)
        )
        self._client.negotiated(now)

    def _fail(self, failure: NegotiationFailed, now: float) -> None:
        self._move(NegotiationInput.GIVE_UP)
        self._client.cancel_timer(self._silent)
        self._client.emit(failure)
        self._client.give_up(failure.reason, now)

    def _meta(self, version: str) -> bytes:
        """The members that "client requests carry in `_meta`"."""
        return object_members(
            {
                VERSION: version,
                CLIENT_INFO: unstructure(self._config.info, version),
                CLIENT_CAPABILITIES: dict(self._config.capabilities),
            }
        )


def _is_modern(outcome: Outcome | None) -> TypeGuard[RpcError]:
    """Whether an answer is one of the errors that only modern servers know."""
    return isinstance(outcome, RpcError) and outcome.code in MODERN_ERRORS


def _supported(error: RpcError | None) -> tuple[str, ...]:
    """`data.supported` of a version error; nothing where it has no usable shape."""
    return texts(member(error and error.data, "supported")) or ()


def _status(outcome: Outcome) -> int | None:
    """The HTTP status of an answer that has no message."""
    return outcome.status if isinstance(outcome, HttpFailed) else None


def may_pass(status: int) -> bool:
    """Whether an HTTP status speaks of trouble that may pass."""
    return status >= 500 or status in (408, 429)


def _is_evidence(answer: HttpFailed) -> bool:
    """Whether an answer that has no message tells something about the era. "If the body is empty or is not a
    recognized modern JSON-RPC error, fall back". A redirect that is not followed is another server's.
    """
    return not (answer.status in CREDENTIALS or may_pass(answer.status) or 300 <= answer.status < 400)
