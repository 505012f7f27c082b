"""What has gone wrong around the stateless revision, each trouble a test of its own.

What is about messages is said over lines and over HTTP alike (`either`); what is about headers, over HTTP.
"""

from __future__ import annotations

from typing import Any

import pytest
from clients import ELICIT, LEGACY, MODERN, wanted, welcome
from either import LISTEN, OFFERS, Told, both, modern, reached
from pair import KEYS, catalogue, prompt
from serving import CAPABILITIES, VERSION
from web import Web

from mcp_sansio import (
    Cancelled,
    ChannelChanged,
    Diagnostic,
    Era,
    InputNeeded,
    InvalidReply,
    Listed,
    LocalProtocolError,
    Negotiated,
    NegotiationFailed,
    OpFailed,
    PromptRendered,
    PromptRequested,
    PromptServerConfig,
    RpcError,
    TooManyRounds,
)

GET, LIST, COMPLETE = "prompts/get", "prompts/list", "completion/complete"
PROBE, HELLO = "server/discover", "initialize"
A_YEAR = 365 * 24 * 3600.0


def failure(told: Told) -> Any:
    """Why the one command failed."""
    (failed,) = told.of(OpFailed)
    return failed.failure


def gave_up(told: Told) -> NegotiationFailed:
    """How negotiation failed, for good."""
    (failed,) = told.of(NegotiationFailed)
    told.wait(1000.0)
    assert told.count(HELLO) <= 1
    return failed


# --- what kind of server it is ------------------------------------------------------------------------


@both
def test_a_server_that_does_not_answer_the_probe_is_greeted(carrier: str) -> None:
    """Old servers say nothing to what they do not know, and clients waited for ever."""
    told = reached(carrier, probe_timeout=2.0)
    told.wait(2.0)
    told.answer(HELLO, welcome())
    assert [event.era for event in told.of(Negotiated)] == [Era.LEGACY]
    assert told.count(PROBE) == 1
    assert told.count("notifications/cancelled") == 0


@both
@pytest.mark.parametrize("code", [-32602, -32600, 0, -32000, -32601])
def test_any_error_that_is_not_modern_means_a_legacy_server(carrier: str, code: int) -> None:
    """Clients knew one code, and servers have many."""
    told = reached(carrier)
    told.refuse(PROBE, code, "initialize first")
    told.answer(HELLO, welcome())
    assert [event.era for event in told.of(Negotiated)] == [Era.LEGACY]


@both
def test_a_version_error_does_not_mean_a_legacy_server(carrier: str) -> None:
    """Clients shook hands with servers that are newer than they are."""
    told = reached(carrier)
    told.refuse(PROBE, -32022, data={"requested": MODERN, "supported": ["2026-10-01"]})
    failed = gave_up(told)
    assert failed.supported == ("2026-10-01",)
    assert told.count(HELLO) == 0


@both
def test_the_version_error_of_a_draft_means_a_legacy_server(carrier: str) -> None:
    """Servers were built to a draft that had another code; what they said is told if nothing else helps."""
    told = reached(carrier)
    told.refuse(PROBE, -32004, "unsupported", data={"supported": [MODERN], "requested": "x"})
    told.refuse(HELLO, -32004, "unsupported", data={"supported": [MODERN], "requested": LEGACY})
    failed = gave_up(told)
    assert failed.error is not None
    assert failed.error.code == -32004
    assert "server/discover: error -32004: unsupported" in failed.reason
    assert (told.count(PROBE), told.count(HELLO)) == (1, 1)


@both
@pytest.mark.parametrize("data", [None, {"supported": None}, {"supported": MODERN}, {"supported": []}])
def test_a_version_error_that_names_no_version_is_the_end(carrier: str, data: Any) -> None:
    """Clients broke where they looked for the versions."""
    told = reached(carrier)
    told.refuse(PROBE, -32022, data=data)
    assert gave_up(told).error == RpcError(-32022, "no", data)
    assert told.count(HELLO) == 0


@both
@pytest.mark.parametrize("more", [{"data": {"current": LEGACY}}, {}])
@pytest.mark.parametrize("code", [-32003, -32600])
def test_a_version_error_in_other_words_means_a_legacy_server(
    carrier: str, code: int, more: dict[str, Any]
) -> None:
    """There were as many ways to say it as there are servers."""
    told = reached(carrier)
    told.refuse(PROBE, code, "Unsupported protocol version, use 2025-11-25", **more)
    told.answer(HELLO, welcome())
    assert [event.era for event in told.of(Negotiated)] == [Era.LEGACY]


# --- freshness ----------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("ttl", [-1, 1.5, "300000", None, True, 2**53 + 1])
def test_a_hint_that_is_nonsense_costs_no_list(carrier: str, ttl: Any) -> None:
    """Clients refused the list, or believed it for ever."""
    told = modern(carrier)
    told.prompts.list(0.0)
    told.page("a", ttlMs=ttl)
    events = told.of(object)
    (listed,) = [event for event in events if isinstance(event, Listed)]
    assert [item.name for item in listed.snapshot] == ["a"]
    huge = ttl == 2**53 + 1
    assert listed.snapshot.expires == (A_YEAR if huge else 0.0)
    assert [event.kind for event in events if isinstance(event, Diagnostic)] == ([] if huge else ["bad-hint"])


@pytest.mark.parametrize("ttl", [-1.0, float("inf"), float("nan"), "300", True])
def test_our_server_has_no_such_hint(ttl: Any) -> None:
    """The other side of the same trouble."""
    with pytest.raises(LocalProtocolError, match="ttl"):
        PromptServerConfig(keys=KEYS, ttl=ttl)


@both
def test_a_change_is_stronger_than_the_time_that_is_left(carrier: str) -> None:
    """Clients kept the list for as long as they had been told to."""
    told = modern(carrier, OFFERS)
    told.acknowledge()
    told.prompts.list(0.0)
    told.page("a", ttlMs=300_000, cacheScope="public")
    assert told.of(Listed)[0].fresh
    told.wait(1.0)
    told.changed()
    told.wait(1.0)
    told.prompts.list(told.now)
    told.page("b", ttlMs=300_000, cacheScope="public")
    (listed,) = told.of(Listed)
    assert [item.name for item in listed.snapshot] == ["b"]


# --- kinds of results ---------------------------------------------------------------------------------


@both
def test_a_result_without_its_kind_is_complete(carrier: str) -> None:
    """Clients insisted on a member that older servers do not send."""
    told = modern(carrier)
    told.prompts.list(0.0)
    told.answer(LIST, {"prompts": [{"name": "a"}]})
    assert len(told.of(Listed)) == 1


@both
@pytest.mark.parametrize("kind", ["deferred", 5, None])
def test_a_result_of_an_unknown_kind_is_none(carrier: str, kind: Any) -> None:
    """Clients read what they knew of it, and kept that."""
    told = modern(carrier)
    told.prompts.list(0.0)
    told.page("a", resultType=kind, ttlMs=300_000)
    assert isinstance(failure(told).failure, InvalidReply)
    assert told.prompts.snapshot is None


# --- questions ----------------------------------------------------------------------------------------


def getting(carrier: str, **config: Any) -> Told:
    """A client that can be asked things, and wants a prompt."""
    told = modern(carrier, capabilities={"elicitation": {}}, **config)
    told.prompts.get("a", None, 0.0)
    return told


def reply(told: Told) -> None:
    """Answer the question that was asked last."""
    needed = told.of(InputNeeded)[-1]
    answers = {key: {"action": "accept"} for key in needed.requests}
    told.client.provide_input(needed.call, answers, told.now)


@both
def test_questions_come_to_an_end(carrier: str) -> None:
    """A server that always asks once more kept its client for ever."""
    told = getting(carrier, max_rounds=3)
    ids = [told.asked(GET)["id"]]
    for _ in range(3):
        told.answer(GET, wanted(q=ELICIT))
        reply(told)
        ids.append(told.asked(GET)["id"])
    told.answer(GET, wanted(q=ELICIT))
    assert failure(told) == TooManyRounds(3)
    assert len({*ids}) == 4


@both
def test_whoever_is_asked_can_leave(carrier: str) -> None:
    """Between two rounds there was nothing to cancel."""
    told = getting(carrier)
    told.answer(GET, wanted(q=ELICIT))
    (needed,) = told.of(InputNeeded)
    assert needed.op is not None
    told.prompts.cancel(needed.op, 0.0)
    assert failure(told) == Cancelled()
    assert told.count(GET) == 1


@both
def test_a_state_belongs_to_its_round(carrier: str) -> None:
    """Clients trimmed it, sent it with later rounds, gathered old answers, or waited though nothing was
    asked.
    """
    told = getting(carrier)
    told.answer(GET, wanted("a\u2028==", q=ELICIT))
    reply(told)
    assert told.asked(GET)["params"]["requestState"] == "a\u2028=="
    told.answer(GET, wanted(None, r=ELICIT))
    reply(told)
    third = told.asked(GET)["params"]
    assert "requestState" not in third
    assert [*third["inputResponses"]] == ["r"]
    told.answer(GET, wanted("later"))
    fourth = told.asked(GET)["params"]
    assert fourth["requestState"] == "later"
    assert "inputResponses" not in fourth
    told.answer(GET, {"messages": []})
    assert len(told.of(PromptRendered)) == 1


@both
def test_a_list_does_not_ask_anything(carrier: str) -> None:
    """Clients showed the question, whoever asked it."""
    told = modern(carrier, capabilities={"elicitation": {}})
    told.prompts.list(0.0)
    told.answer(LIST, wanted("s", q=ELICIT))
    assert isinstance(failure(told).failure, InvalidReply)
    assert told.count(LIST) == 1


@both
@pytest.mark.parametrize("result", [wanted(q={"method": "sampling/createMessage", "params": {}}), wanted()])
def test_what_was_not_offered_is_not_done(carrier: str, result: dict[str, Any]) -> None:
    """Clients paid for models on behalf of servers that had no right to ask."""
    told = getting(carrier)
    told.answer(GET, result)
    assert isinstance(failure(told), InvalidReply)
    assert told.count(GET) == 1


@both
def test_a_question_may_have_any_name(carrier: str) -> None:
    """Names of questions were looked up as attributes."""
    told = getting(carrier)
    told.answer(GET, wanted(__proto__=ELICIT, __class__=ELICIT))
    reply(told)
    assert [*told.asked(GET)["params"]["inputResponses"]] == ["__proto__", "__class__"]


# --- the channel --------------------------------------------------------------------------------------


@both
def test_an_acknowledgement_under_the_text_of_an_id_is_somebody_elses(carrier: str) -> None:
    """Clients matched "2" and 2 here, and nowhere else."""
    told = modern(carrier, OFFERS, ack_timeout=10.0)
    told.acknowledge(str(told.asked(LISTEN)["id"]))
    told.wait(10.0)
    kinds = [event.kind for event in told.of(Diagnostic)]
    assert kinds == ["unknown-acknowledgement", "no-acknowledgement"]
    told.acknowledge()
    assert [event.live for event in told.of(ChannelChanged)] == [True]


@both
def test_a_server_that_has_no_channel_is_believed(carrier: str) -> None:
    """Clients asked it again and again."""
    told = modern(carrier, OFFERS)
    told.refuse(LISTEN, -32601)
    told.prompts.list(0.0)
    told.page("a", ttlMs=5_000, cacheScope="public")
    told.wait(1000.0)
    assert told.count(LISTEN) == 1
    told.prompts.list(told.now)
    assert told.count(LIST) == 2


@both
def test_a_method_that_a_server_does_not_have_is_the_matter_of_one_call(carrier: str) -> None:
    """Over HTTP the status is 404: clients took that for a lost session, or for a wrong address."""
    told = modern(carrier)
    told.prompts.complete("a", "x", "", 0.0)
    told.refuse(COMPLETE, -32601)
    assert failure(told) == RpcError(-32601, "no")
    told.prompts.get("a", None, 0.0)
    assert told.asked(GET)["params"]["name"] == "a"
    assert (told.count(PROBE), told.count(HELLO)) == (1, 0)


# --- headers and bodies -------------------------------------------------------------------------------

NAME = "Hello, 世界"


def serving(name: str) -> Web:
    """A server that has one prompt."""
    prompts = catalogue(0)
    prompts.add(prompt(name), lambda: "hi")
    return Web(prompts)


def test_a_name_is_decoded_before_it_is_compared() -> None:
    """Servers compared the Base64 with the body."""
    web = serving(NAME)
    reply = web.call(GET, {"name": NAME}, {"Mcp-Name": "=?base64?SGVsbG8sIOS4lueVjA==?="})
    (asked,) = web.of(PromptRequested)
    web.prompts.answer(asked, "hi", 0.0)
    assert (reply.take().status, reply.json["result"]["messages"][0]["content"]["text"]) == (200, "hi")


@pytest.mark.parametrize(
    "value", ["\xe4\xb8\x96", "=?base64?%%%?=", "=?base64?/w==?=", "=?BASE64?SGk=?="], ids=ascii
)
def test_a_name_that_is_no_header_value_is_a_mismatch(value: str) -> None:
    """Servers repaired what they could, and served another prompt than the header says. The last one is a
    value as it stands, which is not what the body says.
    """
    web = serving("Hi")
    reply = web.call(GET, {"name": "Hi"}, {"Mcp-Name": value})
    assert (reply.status, reply.code) == (400, -32020)
    assert web.of(PromptRequested) == []


@pytest.mark.parametrize("meta", [None, {VERSION: 5, CAPABILITIES: {}}])
@pytest.mark.parametrize("session", [False, True])
def test_a_modern_request_that_lacks_its_envelope_is_no_legacy_one(
    meta: dict[str, Any] | None, session: bool
) -> None:
    """Servers went on to look for its session."""
    web = Web()
    named = {"Mcp-Session-Id": web.session().id} if session else {}
    params = {} if meta is None else {"_meta": meta}
    reply = web.post(
        {"id": 1, "method": LIST, "params": params},
        {"MCP-Protocol-Version": MODERN, "Mcp-Method": LIST, **named},
    )
    assert (reply.status, reply.code) == (400, -32602)
