"""The legacy handshake: after silence, after a refusal, with a verdict of an earlier run, and its races."""

from __future__ import annotations

from typing import Any

import pytest
from clients import LEGACY, MODERN, Peer, discovered, legacy, welcome
from negotiating import OLD, UNSUPPORTED, failure, methods, overlap

from mcp_sansio import (
    LEGACY_VERSIONS,
    CallFailed,
    Closed,
    Diagnostic,
    Era,
    Limits,
    NegotiationFailed,
    RpcError,
    Verdict,
)


def known(peer: Peer) -> Era | None:
    return peer.client.era


# --- silence ----------------------------------------------------------------------------------------


def test_silence_has_its_own_time_and_means_legacy() -> None:
    peer = Peer(probe_timeout=2.0)
    assert methods(peer) == ["server/discover"]
    assert peer.client.next_timeout() == 2.0
    peer.client.handle_timeout(1.999)
    assert methods(peer) == []
    peer.wait(2.0)
    assert methods(peer) == ["initialize"]
    peer.reply(2, welcome())
    assert methods(peer) == ["notifications/initialized"]
    assert peer.client.era is Era.LEGACY


def test_an_answer_at_the_deadline_is_no_silence() -> None:
    peer = Peer()
    peer.sent()
    peer.now = 5.0
    peer.reply(1, discovered())
    peer.client.handle_timeout(5.0)
    assert peer.client.era is Era.MODERN
    assert methods(peer) == []


def test_when_initialize_succeeds_the_server_is_legacy_whatever_the_probe_says() -> None:
    peer = overlap()
    peer.reply(1, discovered())
    peer.reply(2, welcome())
    assert peer.client.era is Era.LEGACY
    peer = overlap()
    peer.reply(2, welcome())
    peer.reply(1, discovered())
    assert peer.client.era is Era.LEGACY
    assert [event.kind for event in peer.of(Diagnostic)] == ["unknown-reply"]
    assert methods(peer) == ["notifications/initialized"]  # and the probe is never cancelled


def test_a_late_probe_decides_when_initialize_fails() -> None:
    peer = overlap()
    peer.reply(1, discovered())
    assert known(peer) is None
    peer.error(2, -32601)
    assert known(peer) is Era.MODERN
    assert methods(peer) == []
    assert peer.client.next_timeout() is None


def test_a_late_probe_decides_in_the_other_order_too() -> None:
    """The official SDK probes again only after -32022, and forgets the probe that has timed out."""
    peer = overlap()
    peer.error(2, -32601)
    assert methods(peer) == []
    assert peer.client.next_timeout() == 10.0
    peer.now = 9.0
    peer.reply(1, discovered())
    assert peer.client.era is Era.MODERN
    assert peer.client.next_timeout() is None


def test_a_refused_handshake_and_silence_are_the_end() -> None:
    peer = overlap()
    peer.error(2, -32603, "no", data={"supported": [OLD]})
    peer.wait(5.0)
    event = failure(peer)
    assert event.reason == "initialize failed: error -32603: no"
    assert event.error is not None
    assert event.error.code == -32603


def test_a_late_error_to_the_probe_changes_nothing() -> None:
    peer = overlap()
    peer.error(1, -32601)
    peer.error(2, -32603)
    event = failure(peer)
    assert event.reason == "initialize failed: error -32603: no"


WELCOMES_THAT_ARE_NONE = [
    {},
    {"protocolVersion": LEGACY},
    {"protocolVersion": 5, "capabilities": {}},
    welcome("2099-01-01"),
    welcome(MODERN),
]


@pytest.mark.parametrize("result", WELCOMES_THAT_ARE_NONE)
def test_a_late_probe_decides_whatever_is_wrong_with_the_welcome(result: dict[str, Any]) -> None:
    peer = overlap()
    peer.reply(1, discovered())
    peer.reply(2, result)
    assert known(peer) is Era.MODERN
    peer = overlap()
    peer.reply(2, result)
    assert known(peer) is None
    peer.reply(1, discovered())
    assert known(peer) is Era.MODERN
    assert methods(peer) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_late_probe_decides_when_initialize_is_not_answered(when: str) -> None:
    peer = overlap()
    if when == "before":
        peer.reply(1, discovered())
    peer.wait(60.0)
    if when == "after":
        peer.reply(1, discovered())
    assert known(peer) is Era.MODERN
    assert methods(peer) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_late_modern_error_to_the_probe_is_evidence(when: str) -> None:
    peer = overlap()
    if when == "before":
        peer.error(1, UNSUPPORTED, data={"supported": [MODERN]})
    peer.error(2, -32601)
    if when == "after":
        peer.error(1, UNSUPPORTED, data={"supported": [MODERN]})
    assert methods(peer) == ["server/discover"]
    peer.reply(3, discovered())
    assert peer.client.era is Era.MODERN


def test_a_late_list_of_strange_versions_is_no_help() -> None:
    peer = overlap()
    peer.reply(1, discovered(("2026-10-01",)))
    peer.error(2, -32603)
    assert failure(peer).reason == "initialize failed: error -32603: no"


# --- initialize fails -------------------------------------------------------------------------------


def test_initialize_answered_by_a_modern_error_is_probed_again_once() -> None:
    """As the official SDK does for -32022: the error names a modern server."""
    peer = overlap()
    peer.error(2, UNSUPPORTED, data={"supported": [MODERN], "requested": LEGACY})
    assert methods(peer) == []  # the first probe is still out
    peer.wait(5.0)
    assert failure(peer).reason == "initialize failed: error -32022: no"
    peer = Peer()
    peer.error(peer.last()["id"], -32601)
    peer.error(peer.last()["id"], UNSUPPORTED, data={"supported": [MODERN]})
    assert methods(peer) == ["server/discover"]
    peer.error(3, -32601)
    assert methods(peer) == ["initialize"]
    peer.error(4, UNSUPPORTED, data={"supported": [MODERN]})
    assert failure(peer).supported == (MODERN,)


def test_a_modern_error_is_no_help_to_a_legacy_client() -> None:
    peer = Peer(versions=LEGACY_VERSIONS)
    peer.error(peer.last()["id"], UNSUPPORTED, data={"supported": [MODERN]})
    event = failure(peer)
    assert event.supported == (MODERN,)


def test_a_refused_version_is_replaced_once_by_the_newest_older_one() -> None:
    peer = Peer(versions=LEGACY_VERSIONS)
    peer.error(peer.last()["id"], -32602, "unsupported protocol version: 2025-11-25")
    assert peer.last()["params"]["protocolVersion"] == OLD
    peer.error(2, -32602)
    assert failure(peer).error == RpcError(-32602, "no")


def test_a_refused_version_is_replaced_by_one_that_the_server_names() -> None:
    peer = Peer(versions=LEGACY_VERSIONS)
    peer.error(peer.last()["id"], -32602, data={"supported": ["2024-11-05", "2025-03-26", MODERN]})
    assert peer.last()["params"]["protocolVersion"] == "2025-03-26"
    peer.reply(2, welcome("2025-03-26"))
    assert peer.client.version == "2025-03-26"


def test_a_refused_version_without_another_is_the_end() -> None:
    peer = Peer(versions=(LEGACY,))
    peer.error(peer.last()["id"], -32602)
    assert failure(peer).error == RpcError(-32602, "no")
    peer = Peer(versions=LEGACY_VERSIONS)
    peer.error(peer.last()["id"], -32602, data={"supported": ["2099-01-01"]})
    assert failure(peer).supported == ("2099-01-01",)


def test_a_silent_server_gets_its_older_version_too() -> None:
    peer = overlap()
    peer.error(2, -32602)
    assert peer.last()["params"]["protocolVersion"] == OLD
    peer.reply(3, welcome(OLD))
    assert peer.client.version == OLD


@pytest.mark.parametrize("result", [{}, {"protocolVersion": 5}, {"protocolVersion": LEGACY}])
def test_an_unreadable_welcome_is_the_end(result: dict[str, Any]) -> None:
    peer = Peer(versions=LEGACY_VERSIONS)
    peer.reply(peer.last()["id"], result)
    event = failure(peer)
    assert event.reason.startswith("initialize failed: expected a")
    assert event.error is None


def test_a_welcome_that_breaks_json_rpc_is_the_end() -> None:
    peer = Peer(versions=LEGACY_VERSIONS)
    peer.say(id=peer.last()["id"])
    assert failure(peer).reason == "initialize failed: a reply has either a result or an error"


def test_an_unanswered_handshake_closes_the_channel_and_is_never_cancelled() -> None:
    peer = Peer(versions=LEGACY_VERSIONS)
    assert methods(peer) == ["initialize"]
    peer.wait(60.0)
    assert failure(peer).reason == "initialize failed: no answer in time"
    assert [message["method"] for message in peer.log] == ["initialize"]


def test_the_whole_of_connecting_is_bounded() -> None:
    peer = Peer()
    call = peer.client.request("x/ask", None, 0.0, limits=Limits())
    peer.sent()
    peer.wait(4.9)
    assert peer.events() == []
    peer.sent()
    peer.wait(66.0)
    failed, ended = peer.events()
    assert isinstance(failed, NegotiationFailed)
    assert ended == CallFailed(call, Closed(failed.reason))


# --- verdicts ---------------------------------------------------------------------------------------


def test_a_legacy_verdict_saves_the_probe() -> None:
    peer = Peer(verdict=Verdict(Era.LEGACY, OLD))
    [message] = peer.sent()
    assert (message["method"], message["params"]["protocolVersion"]) == ("initialize", OLD)


def test_a_modern_verdict_is_tried_first() -> None:
    peer = Peer(verdict=Verdict(Era.MODERN, MODERN))
    assert methods(peer) == ["server/discover"]


@pytest.mark.parametrize("version", ["2099-01-01", OLD])
def test_a_verdict_that_may_not_be_spoken_is_ignored(version: str) -> None:
    peer = Peer(verdict=Verdict(Era.LEGACY, version), versions=(MODERN, LEGACY))
    assert methods(peer) == ["server/discover"]


def test_a_verdict_that_fails_is_replaced_by_one_new_probe() -> None:
    peer = Peer(verdict=Verdict(Era.LEGACY, LEGACY))
    peer.error(peer.last()["id"], -32601)
    assert methods(peer) == ["server/discover"]
    peer.reply(2, discovered())
    assert peer.client.era is Era.MODERN
    peer = Peer(verdict=Verdict(Era.LEGACY, OLD))
    peer.error(peer.last()["id"], -32601)
    peer.error(peer.last()["id"], -32601)
    assert peer.last()["params"]["protocolVersion"] == LEGACY
    peer.error(3, -32601)
    assert failure(peer).error == RpcError(-32601, "no")


@pytest.mark.parametrize("result", WELCOMES_THAT_ARE_NONE)
def test_a_verdict_fails_by_an_answer_that_is_no_welcome_too(result: dict[str, Any]) -> None:
    peer = Peer(verdict=Verdict(Era.LEGACY, LEGACY))
    peer.reply(peer.last()["id"], result)
    assert methods(peer) == ["server/discover"]
    peer.reply(2, discovered())
    assert known(peer) is Era.MODERN


def test_a_verdict_fails_by_silence_too() -> None:
    peer = Peer(verdict=Verdict(Era.LEGACY, LEGACY))
    assert methods(peer) == ["initialize"]
    peer.wait(60.0)
    assert methods(peer) == ["server/discover"]
    peer.wait(5.0)
    assert failure(peer).reason == "initialize failed: no answer in time"


def test_there_is_no_new_probe_without_a_modern_version() -> None:
    peer = Peer(verdict=Verdict(Era.LEGACY, LEGACY), versions=LEGACY_VERSIONS)
    peer.reply(peer.last()["id"], {})
    assert failure(peer).reason == "initialize failed: expected a string at $.protocolVersion"


def test_a_verdict_that_was_not_assumed_gets_no_new_probe() -> None:
    peer = Peer(verdict=Verdict(Era.LEGACY, OLD), versions=(MODERN, LEGACY))
    peer.error(peer.last()["id"], -32601)
    peer.error(peer.last()["id"], -32601)
    assert failure(peer).error == RpcError(-32601, "no")


def test_the_verdict_of_a_connection_serves_the_next_one() -> None:
    peer = legacy(version=OLD)
    peer.wire.receive_eof(peer.now, "gone")
    assert peer.client.era is None
    assert peer.client.version is None
    peer.reconnect()
    [message] = peer.sent()
    assert (message["method"], message["params"]["protocolVersion"]) == ("initialize", OLD)
    peer.error(message["id"], -32601)
    peer.reply(peer.last()["id"], discovered())
    assert peer.client.era is Era.MODERN
