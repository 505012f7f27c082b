"""Worlds over HTTP/1.1: nodes, the faults of exchanges, and what the ledger makes of heads and endings."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import attrs
import pytest

from mcp_sansio import LEGACY_VERSIONS, MODERN_VERSIONS, ClientConfig, PromptServerConfig, ServerConfig
from mcp_sansio._trace import Trace
from mcp_sansio.h11 import H11PoolConfig
from mcp_sansio.simulation import PROPERTIES, run_seed
from mcp_sansio.simulation._faults import Fault
from mcp_sansio.simulation._ledger import Ledger
from mcp_sansio.simulation._links import Arming
from mcp_sansio.simulation._run import Outcome
from mcp_sansio.simulation._scenarios import CLIENT, KEYS, SERVER, Scenario
from mcp_sansio.simulation._workload import Workload
from mcp_sansio.simulation._world import World
from mcp_sansio.simulation.http import (
    EXCHANGES,
    OFFICE_HOUR_HTTP,
    TORTURE_HTTP,
    HttpClientNode,
    HttpServerNode,
)

BY_NAME = {fault.name: fault for fault in EXCHANGES}


def day(
    world: World,
    until: float,
    versions: tuple[str, ...] = MODERN_VERSIONS,
    pool: H11PoolConfig | None = None,
    faults: tuple[Fault, ...] = (),
    **server: Any,
) -> None:
    """A server with three pages, a client that reads them, and changes now and then."""
    rules = [(fault, fault.rule) for fault in faults if fault.rule is not None]
    world.armings = lambda pipe: tuple(
        Arming(fault.name, fault.name, 2, rule)
        for fault, rule in rules
        if pipe.sender == "s1" or not fault.replies
    )
    serving = PromptServerConfig(keys=KEYS, page_size=2, ttl=0.0)
    world.add("s1", HttpServerNode(ServerConfig(info=SERVER), serving, **server))
    load = Workload(world, "s1", ["c1"], until)
    load.prompts(5)
    world.add("c1", HttpClientNode("s1", ClientConfig(info=CLIENT, versions=versions), pool=pool))
    load.redefinitions(4.0)
    load.reads(2.0)
    load.gets(2.0)


def live(seed: int = 1, *faults: Fault, seconds: float = 10.0, **options: Any) -> Outcome:
    scenario = Scenario("day", seconds, partial(day, faults=faults, **options), (), 500.0)
    outcome = run_seed(scenario, seed, PROPERTIES)
    assert outcome.violation is None, str(outcome.violation)
    return outcome


def of(trace: Trace, kind: str, node: str = "") -> list[Any]:
    return [event.data for event in trace if event.kind == kind and event.node in ("", node or event.node)]


def struck(outcome: Outcome) -> Counter[str]:
    return Counter(data[0] for data in of(outcome.trace, "fault"))


@pytest.mark.parametrize("versions", [MODERN_VERSIONS, LEGACY_VERSIONS])
def test_a_quiet_day_over_http(versions: tuple[str, ...]) -> None:
    trace = live(versions=versions).trace
    reported = [data[0] for data in of(trace, "obs", "c1")]
    assert {"negotiated", "channel", "updated", "listed", "rendered"} <= set(reported)
    assert of(trace, "head-out", "c1")[0][0] == "POST"
    assert of(trace, "head-in", "c1")[0][0] == 200
    assert ("GET" in [data[0] for data in of(trace, "head-in", "s1")]) is (versions == LEGACY_VERSIONS)


def test_an_exchange_is_a_link_that_both_ends_call_by_one_name() -> None:
    trace = live().trace
    for kind, node, other in (("out", "c1", "s1"), ("out", "s1", "c1")):
        said = {(e.link, e.data) for e in trace if e.kind == kind and e.node == node}
        assert said == {(e.link, e.data) for e in trace if e.kind == "in" and e.node == other}
    opened = [e.data for e in trace if e.kind == "open"]
    assert set(opened) == {"http"}


@pytest.mark.parametrize("versions", [MODERN_VERSIONS, LEGACY_VERSIONS])
@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "no-comments"])
def test_faults_of_exchanges_strike_and_are_survived(name: str, versions: tuple[str, ...]) -> None:
    seen: Counter[str] = Counter()
    for seed in range(2):
        seen += struck(live(seed, BY_NAME[name], seconds=6.0, versions=versions))
    assert seen[name] > 0


def test_comments_are_lost() -> None:
    outcome = live(1, BY_NAME["no-comments"], http={"keep_alive": 1.0})
    assert struck(outcome)["no-comments"] > 0


def test_requests_belong_to_who_dialled() -> None:
    trace = live(principals={"c1": "somebody"}).trace
    callers = [data for data in of(trace, "obs", "s1") if data[0] == "caller"]
    assert callers
    assert callers[0] == ["caller", {"principal": "somebody"}]


def test_who_has_few_connections_says_so() -> None:
    trace = live(pool=H11PoolConfig(max_connections=1)).trace
    (settings,) = [data[1] for data in of(trace, "obs", "c1") if data[0] == "settings"]
    assert settings["waits"] is True


@pytest.mark.parametrize("start", [0, 12, 24])
def test_torture_over_http(start: int) -> None:
    for seed in range(start, start + 12):
        outcome = run_seed(TORTURE_HTTP, seed, PROPERTIES)
        assert outcome.violation is None, f"{seed}: {outcome.violation}"


@pytest.mark.slow
def test_much_torture_over_http() -> None:
    for seed in range(100, 500):
        outcome = run_seed(TORTURE_HTTP, seed, PROPERTIES)
        assert outcome.violation is None, f"{seed}: {outcome.violation}"


def test_an_hour_at_the_office_over_http() -> None:
    outcome = run_seed(attrs.evolve(OFFICE_HOUR_HTTP, seconds=120.0), 1, PROPERTIES)
    assert outcome.violation is None
    assert outcome.messages > 20


# --- the ledger, by hand ------------------------------------------------------------------------------

POST = ["POST", [["Mcp-Session-Id", "s"]]]
STREAM = [200, [["Content-Type", "text/event-stream"]]]


def ledger(*events: tuple[str, str, str, Any]) -> Ledger:
    """What a ledger makes of events at c1 and s1."""
    trace = Trace()
    trace.add(0.0, "node", "c1", data="client")
    trace.add(0.0, "node", "s1", data="server")
    for kind, node, link, data in events:
        trace.add(0.0, kind, node, link, data=data)
    made = Ledger()
    for event in trace:
        made.take(event)
    return made


def test_a_head_of_no_exchange_means_nothing() -> None:
    made = ledger(
        ("head-in", "c1", "x.1", STREAM), ("head-out", "s1", "x.1", STREAM), ("end", "s1", "x", "eof")
    )
    assert not made.clients["c1"].covered
    assert not list(made.servers["s1"].listeners.open)


def test_connections_of_exchanges_come_and_go_without_meaning() -> None:
    made = ledger(("open", "c1", "x", "http"), ("open", "s1", "x", "http"), ("end", "c1", "x", "eof"))
    assert made.clients["c1"].epoch == 0
    assert made.http.carries("x")
    assert made.http.carries("x.7")
    assert not made.http.carries("y.7")
    assert made.server_of("x.7") is made.servers["s1"]


def test_what_a_closed_exchange_means_depends_on_the_era() -> None:
    meta = '{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}'
    for params, over in ((meta, "cancelled"), ("{}", "dropped")):
        request = f'{{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{params}}}'
        made = ledger(
            ("open", "c1", "x", "http"),
            ("head-out", "c1", "x.1", POST),
            ("out", "c1", "x.1", request),
            ("end", "c1", "x.1", "hangup"),
        )
        assert made.clients["c1"].asked["int", 1].over == over


def test_what_an_exchange_is_about_is_known_only_if_its_beginning_was_seen() -> None:
    initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    cancelled = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    made = ledger(
        ("open", "c1", "lines", None),
        ("out", "c1", "x.1", initialized),
        ("end", "c1", "x.1", "complete"),
        ("in", "s1", "x.1", initialized),
        ("in", "s1", "x.1", cancelled),
    )
    assert made.clients["c1"].initialized is None
    assert not made.http.carries("lines")


def test_a_request_of_a_session_is_cancelled_from_another_exchange_of_it() -> None:
    request = '{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}'
    cancelled = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    made = ledger(
        ("open", "s1", "x", "http"),
        ("open", "s1", "y", "http"),
        ("head-in", "s1", "x.1", POST),
        ("in", "s1", "x.1", request),
        ("head-in", "s1", "y.1", POST),
        ("in", "s1", "y.1", cancelled),
    )
    assert made.servers["s1"].owed["x.1", ("int", 1)].cancelled


def test_a_stream_that_was_opened_too_early_is_ready_when_the_session_is() -> None:
    get = ["GET", [["Mcp-Session-Id", "s"]]]
    initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    events = [
        ("open", "s1", "x", "http"),
        ("open", "s1", "y", "http"),
        ("head-in", "s1", "x.1", get),
        ("head-out", "s1", "x.1", STREAM),
    ]
    (early,) = ledger(*events).servers["s1"].listeners.open.values()
    assert early.ready is None
    events += [("head-in", "s1", "y.1", POST), ("in", "s1", "y.1", initialized)]
    made = ledger(*events)
    (listener,) = made.servers["s1"].listeners.open.values()
    assert listener.ready is not None
    events += [("head-in", "s1", "y.2", get), ("head-out", "s1", "y.2", STREAM)]
    (newest,) = ledger(*events).servers["s1"].listeners.open.values()
    assert newest.link == "y.2"


def test_nodes_are_deaf_to_connections_that_they_have_given_up() -> None:
    node = HttpClientNode("s1", ClientConfig(info=CLIENT))
    node.name = "c1"
    node.start(0.0)
    node.receive("c1-9", b"HTTP/1.1 200 OK\r\n\r\n", 0.0)
    node.closed("c1-9", "eof", 0.0)
    assert node.connected
