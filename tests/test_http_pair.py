"""Client and server over HTTP, in both eras: the same prompts, whatever the network does to the exchanges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asking import ENDS
from http_pair import HttpWorld, Trip, byte_by_byte, whole
from hypothesis import given, settings
from hypothesis import strategies as st
from pair import CLIENT, catalogue, prompt

from mcp_sansio import (
    ALL_VERSIONS,
    ArgumentCompleted,
    AskInput,
    CallFailed,
    Cancelled,
    ClientConfig,
    Disconnected,
    HttpServerConfig,
    InputNeeded,
    InputRequest,
    Listed,
    ListingConfig,
    Lost,
    NegotiationFailed,
    OpFailed,
    PromptGone,
    PromptRendered,
    RequestCancelled,
    ServerConfig,
    TextContent,
    Updated,
)

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
ERAS = pytest.mark.parametrize("version", [LEGACY, MODERN])
CHANGED = "notifications/prompts/list_changed"


def world(version: str, **more: Any) -> HttpWorld:
    options = {"latency": 0.01, **more}
    return HttpWorld(
        client=ClientConfig(info=CLIENT, versions=(version,), capabilities={"elicitation": {}}), **options
    )


def names(snapshot: Any) -> list[str]:
    return [prompt.name for prompt in snapshot]


def listed(here: HttpWorld) -> list[str]:
    """The names on the list, asked for now."""
    end = here.outcome(here.prompts.list(here.now))
    assert isinstance(end, Listed), end
    return names(end.snapshot)


def said(end: PromptRendered) -> str:
    (message,) = end.result.messages
    assert isinstance(message.content, TextContent)
    return message.content.text


def truth(here: HttpWorld) -> list[str]:
    return [*here.catalogue.snapshot.names]


def replies(kind: Any) -> HttpServerConfig:
    numbers = iter(range(1000))
    return HttpServerConfig(new_session_id=lambda: f"s{next(numbers)}", reply=kind)


# --- every day ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [whole, byte_by_byte])
@pytest.mark.parametrize("reply", ["auto", "json", "sse"])
@pytest.mark.parametrize("version", ALL_VERSIONS[1:])
def test_a_list_in_pages_a_prompt_and_a_completion(version: str, reply: str, cut: Any) -> None:
    prompts = catalogue(25)
    who = {"who": lambda value, _: [value + "!", "ü"]}
    prompts.add(prompt("grüße", "who"), lambda who: f"Hello {who} \u2028 €", who)
    here = world(version, prompts=prompts, cut=cut, http=replies(reply))
    assert listed(here) == truth(here)
    assert len(here.requests("prompts/list")) == 3
    here.run(1.0)
    assert here.client.channel("promptsListChanged") is True
    got = here.outcome(here.prompts.get("grüße", {"who": "you"}, here.now))
    assert said(got) == "Hello you \u2028 €"
    completed = here.outcome(here.prompts.complete("grüße", "who", "a", here.now))
    assert isinstance(completed, ArgumentCompleted)
    assert completed.completion.values == ("a!", "ü")


def test_both_eras_are_found_out() -> None:
    for served, expected in ((ALL_VERSIONS, MODERN), (ALL_VERSIONS[:4], LEGACY)):
        here = HttpWorld(server=ServerConfig(info=CLIENT, versions=served))
        here.run(1.0)
        assert here.client.version == expected


def test_exchanges_overtake_each_other() -> None:
    """The first of three gets is the slowest; each gets its own answer."""
    lags = {"p0000": 0.5, "p0001": 0.2, "p0002": 0.01}
    here = world(MODERN, lag=lambda trip: lags.get(trip.message.get("params", {}).get("name", ""), 0.01))
    ops = [here.prompts.get(name, None, here.now) for name in lags]
    here.run(5.0)
    rendered = {event.op: said(event) for event in here.all(PromptRendered)}
    assert rendered == {op: f"this is {name}" for op, name in zip(ops, lags, strict=True)}
    assert [event.op for event in here.all(PromptRendered)] == [*reversed(ops)]


@ERAS
def test_the_end_leaves_nothing_open(version: str) -> None:
    here = world(version)
    listed(here)
    here.run(1.0)
    here.client.close(here.now)
    here.run(1.0)
    assert here.http_client.closed
    assert [trip.what for trip in here.trips if not trip.over] == []
    assert len(here.made("DELETE")) == (version == LEGACY)
    assert here.client.next_timeout() is None
    assert here.server.next_timeout() is None


# --- churn --------------------------------------------------------------------------------------------


@ERAS
def test_changes_arrive_on_the_channel(version: str) -> None:
    here = world(version)
    listed(here)
    here.run(1.0)
    (channel,) = here.open("GET") if version == LEGACY else here.open("subscriptions/listen")
    for number in range(50):
        here.catalogue.put(prompt(f"new{number:02}"), lambda: "")
        here.run(0.02)
    here.run(5.0)
    snapshot = here.prompts.snapshot
    assert snapshot is not None
    assert names(snapshot) == truth(here)
    assert snapshot.verified
    assert 1 < len(here.notifications(CHANGED)) < 30
    assert not channel.over
    assert len(here.all(Updated)) <= 1 + len(here.notifications(CHANGED))


@ERAS
def test_a_quiet_channel_is_kept_alive(version: str) -> None:
    here = world(version)
    listed(here)
    here.run(1000.0)
    what = "GET" if version == LEGACY else "subscriptions/listen"
    assert len(here.made(what)) == 1
    here.catalogue.put(prompt("new"), lambda: "")
    here.run(1.0)
    assert names(here.prompts.snapshot) == truth(here)


@ERAS
def test_a_gap_in_the_channel_is_an_invalidation(version: str) -> None:
    here = world(version)
    listed(here)
    here.run(1.0)
    what = "GET" if version == LEGACY else "subscriptions/listen"
    here.disconnect()
    here.catalogue.put(prompt("meanwhile"), lambda: "")
    here.run(5.0)
    assert len(here.made(what)) == 2
    assert names(here.prompts.snapshot) == truth(here)


@ERAS
def test_a_stale_name_is_found_out(version: str) -> None:
    here = world(version, listing=ListingConfig(eager=False))
    listed(here)
    here.run(1.0)
    here.disconnect()
    here.catalogue.remove("p0003")
    end = here.outcome(here.prompts.get("p0003", None, here.now))
    assert isinstance(end, PromptGone)
    assert names(end.snapshot) == truth(here)


# --- giving up ----------------------------------------------------------------------------------------


@ERAS
def test_a_get_that_is_cancelled_is_cancelled_at_the_server(version: str) -> None:
    here = world(version)
    listed(here)
    here.hold = True
    op = here.prompts.get("p0001", None, here.now)
    here.run(1.0)
    assert len(here.open("prompts/get")) == 1
    here.prompts.cancel(op, here.now)
    here.run(1.0)
    assert [event.failure for event in here.all(OpFailed)] == [Cancelled()]
    assert len(here.all(RequestCancelled, server=True)) == 1
    assert here.open("prompts/get") == []
    assert len(here.requests("notifications/cancelled")) == (version == LEGACY)


@ERAS
def test_a_get_that_asks_first(version: str) -> None:
    prompts = catalogue(1)
    question = InputRequest("elicitation/create", {"message": "?", "requestedSchema": {}})
    prompts.add(prompt("ask"), lambda: AskInput({"q": question}, {"n": 1}))
    here = world(version, prompts=prompts)
    op = here.prompts.get("ask", None, here.now)
    here.run(1.0)
    if version == LEGACY:
        assert [event.op for event in here.all(OpFailed)] == [op]
        return
    (needed,) = here.all(InputNeeded)
    here.client.provide_input(needed.call, {"q": {"action": "accept"}}, here.now)
    here.run(1.0)
    first, second = here.requests("prompts/get")
    assert second["id"] != first["id"]
    assert second["params"]["inputResponses"] == {"q": {"action": "accept"}}


# --- losses -------------------------------------------------------------------------------------------


class Bad:
    """A network that loses the first trips for each of some methods, each in another way."""

    def __init__(self, *methods: str, times: int = 1) -> None:
        self.left = dict.fromkeys(methods, times)
        self.lost = 0

    def __call__(self, trip: Trip) -> Any:
        if self.left.get(trip.what, 0) == 0:
            return None
        self.left[trip.what] -= 1
        self.lost += 1
        return ("request", "reply", "middle")[self.lost % 3]


@ERAS
@pytest.mark.parametrize("times", [1, 2])
def test_what_is_safe_to_repeat_is_repeated(version: str, times: int) -> None:
    first = ["server/discover", "subscriptions/listen"]
    if version == LEGACY:
        first = ["initialize", "notifications/initialized", "GET"]
    bad = Bad(*first, "prompts/list", times=times)
    bad.left["prompts/get"] = 1
    here = world(version, fate=bad)
    assert listed(here) == truth(here)
    end = here.outcome(here.prompts.get("p0001", None, here.now))
    assert isinstance(end, PromptRendered)
    here.run(60.0)
    assert set(bad.left.values()) == {0}
    here.catalogue.put(prompt("new"), lambda: "")
    here.run(1.0)
    assert names(here.prompts.snapshot) == truth(here)


@ERAS
def test_what_is_not_is_lost(version: str) -> None:
    here = world(version, fate=Bad("completion/complete"))
    op = here.prompts.complete("p0000", "x", "y", here.now)
    here.run(60.0)
    assert [(event.op, type(event.failure)) for event in here.all(OpFailed)] == [(op, Lost)]
    assert here.all(Disconnected) == []


def test_a_server_that_is_never_reached_is_given_up() -> None:
    here = HttpWorld(latency=0.01, fate=lambda _: "request")
    here.prompts.list(here.now)
    here.run(60.0)
    assert len(here.all(NegotiationFailed)) == 1
    assert here.http_client.closed


# --- sessions -----------------------------------------------------------------------------------------


@ERAS
def test_a_server_that_starts_anew_is_found_again(version: str) -> None:
    here = world(version)
    listed(here)
    here.run(1.0)
    here.catalogue.put(prompt("before"), lambda: "")
    here.restart()
    here.catalogue.put(prompt("after"), lambda: "")
    end = here.outcome(here.prompts.get("after", None, here.now))
    assert isinstance(end, PromptRendered)
    here.run(10.0)
    assert names(here.prompts.snapshot) == truth(here)
    assert len(here.made("initialize")) == (2 if version == LEGACY else 0)
    here.catalogue.put(prompt("later"), lambda: "")
    here.run(1.0)
    assert names(here.prompts.snapshot) == truth(here)


def test_many_requests_find_out_at_once_that_the_session_is_gone() -> None:
    here = world(LEGACY)
    listed(here)
    here.run(1.0)
    here.restart()
    ops = [here.prompts.get(f"p{number:04}", None, here.now) for number in range(5)]
    other = here.client.request("ping", None, here.now)
    here.run(10.0)
    assert [event.op for event in here.all(PromptRendered)] == ops
    assert [event.call for event in here.all(CallFailed)] == [other]
    assert len(here.made("initialize")) == 2


def test_a_session_that_expires_is_followed_by_another() -> None:
    numbers = iter(range(10))
    config = HttpServerConfig(new_session_id=lambda: f"s{next(numbers)}", session_timeout=60.0)
    here = world(LEGACY, http=config, fate=lambda trip: "request" if trip.what == "GET" else None)
    listed(here)
    here.run(100.0)
    assert len(listed(here)) == 25
    assert len(here.made("initialize")) == 2


# --- any network --------------------------------------------------------------------------------------


TURNS = ["list", "get", "gone", "edit", "break", "restart", "cancel", "wait"]


@ERAS
@given(
    fates=st.lists(st.sampled_from([None, None, "request", "reply", "middle"]), max_size=30),
    lags=st.lists(st.sampled_from([0.0, 0.01, 0.3, 2.0]), min_size=1, max_size=7),
    turns=st.lists(st.sampled_from(TURNS), max_size=12),
)
@settings(max_examples=60)
def test_in_the_end_the_client_has_the_list_and_everything_has_ended_once(
    version: str, fates: list[Any], lags: list[float], turns: list[str]
) -> None:
    left: Iterator[Any] = iter(fates)
    here = world(
        version,
        prompts=catalogue(12),
        fate=lambda _: next(left, None),
        lag=lambda trip: lags[len(trip.what) % len(lags)],
    )
    ops = [here.prompts.list(here.now)]
    for number, turn in enumerate(turns):
        if here.client.done:
            break
        if turn == "list":
            ops.append(here.prompts.list(here.now))
        elif turn in ("get", "gone"):
            ops.append(here.prompts.get("p0001" if turn == "get" else "nobody", None, here.now))
        elif turn == "edit":
            here.catalogue.put(prompt(f"new{number}"), lambda: "")
        elif turn == "break":
            here.disconnect()
        elif turn == "restart":
            here.restart()
        elif turn == "cancel":
            here.prompts.cancel(ops[-1], here.now)
        here.run(0.3 * (number % 3))
    here.run(700.0)
    ended = [event.op for _, event in here.events if isinstance(event, ENDS)]
    assert sorted(op.number for op in ended) == [op.number for op in ops]
    left = iter(())  # the network is good from now on
    if not here.client.done:
        here.catalogue.put(prompt("last"), lambda: "")
        here.run(100.0)
        assert listed(here) == truth(here)
        assert len(here.open("GET") + here.open("subscriptions/listen")) == 1
        here.client.close(here.now)
        here.run(100.0)
    assert here.http_client.closed
    assert [trip.what for trip in here.trips if not trip.over] == []
