"""Stories: what a trace is called in words, as lines, as a diagram, as a page, and as a test that fails."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from simulated_variants import DIRTY

from mcp_sansio._trace import Header, Trace
from mcp_sansio.simulation import PROPERTIES, TORTURE, run_seed
from mcp_sansio.simulation._run import Outcome
from mcp_sansio.simulation._shrink import shrink
from mcp_sansio.simulation._standard import SCENARIOS
from mcp_sansio.simulation._stories.labels import (
    Correspondence,
    command_label,
    fault_label,
    object_of,
    report_label,
    shorten,
)
from mcp_sansio.simulation._stories.mermaid import mermaid
from mcp_sansio.simulation._stories.outline import outline
from mcp_sansio.simulation._stories.page import page
from mcp_sansio.simulation._stories.regression import loud, regression_test
from mcp_sansio.simulation._stories.story import Step, Story, tell


def trace(*events: tuple[Any, ...]) -> Trace:
    """A trace of (time, kind, node, link, data), each caused by the one before."""
    made = Trace(Header(scenario="small", seed=7))
    for number, (time, kind, node, link, data) in enumerate(events):
        made.add(time, kind, node, link, data=data, cause=number - 1)
    return made


def text(**message: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", **message})


LIST = text(id=1, method="prompts/list")
PAGE = text(id=1, result={"prompts": [{"name": "a"}]})

SMALL = trace(
    (0.0, "node", "s", "", "server"),
    (0.0, "obs", "s", "", ["settings", {"quiet": 0.05}]),
    (0.0, "node", "c", "", "client"),
    (0.0, "open", "s", "x", None),
    (0.0, "open", "c", "x", None),
    (0.1, "out", "c", "x", LIST),
    (0.2, "op", "s", "", ["edit", {"put": [["a", "v1"]], "remove": []}]),
    (0.5, "in", "s", "x", LIST),
    (0.5, "out", "s", "x", text(method="notifications/prompts/list_changed")),
    (0.5, "out", "s", "x", PAGE),
    (0.5, "fault", "s", "x", ["delay", {}]),
    (0.5, "fault", "", "", ["partition", {"a": "s", "b": "c", "until": 2.5}]),
    (0.6, "in", "c", "x", PAGE),
    (0.6, "timer", "c", "", None),
    (0.6, "obs", "c", "", ["listed", {"asked": 1, "fresh": True, "items": [["a", "v1"]]}]),
    (0.7, "in", "c", "x", "Server <started>"),
    (0.8, "fault", "", "", ["crash", {"node": "s"}]),
    (1.0, "phase", "", "", "calm"),
    (1.5, "end", "c", "x", "reset"),
    (2.0, "verdict", "", "", ["C1", "a list is <fresh> that is not"]),
)


@pytest.fixture
def story() -> Story:
    return tell(SMALL)


@pytest.fixture(scope="module")
def failed() -> Outcome:
    found = shrink(run_seed(DIRTY, 114, PROPERTIES[:1]), PROPERTIES[:1]).outcome
    assert found.violation is not None
    return found


def named(story: Story, tone: str) -> list[Step]:
    return [step for step in story.steps if step.tone == tone]


# --- words --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "label"),
    [
        ({"id": 1, "method": "prompts/list"}, "[1] prompts/list"),
        (
            {"id": 1, "method": "prompts/list", "params": {"cursor": "abcdefghijkl"}},
            "[1] prompts/list from …efghijkl",
        ),
        ({"id": "a", "method": "prompts/get", "params": {"name": "p"}}, "[a] prompts/get p"),
        (
            {"id": 2, "method": "prompts/get", "params": {"name": "p", "requestState": "s"}},
            "[2] prompts/get p with input",
        ),
        ({"id": 1, "method": "initialize", "params": {"protocolVersion": "v"}}, "[1] initialize v"),
        (
            {"id": 1, "method": "completion/complete", "params": {"ref": {"name": "p"}}},
            "[1] completion/complete p",
        ),
        ({"method": "notifications/cancelled", "params": {"requestId": 3}}, "cancelled (of [3])"),
        ({"method": "notifications/prompts/list_changed"}, "prompts/list_changed"),
        ({"id": 9, "error": {"code": -32602, "message": "no\nsuch"}}, "[9] error -32602: no such"),
        ({"id": 9, "result": {"resultType": "input_required"}}, "[9] input required"),
        ({"id": 9, "result": {"prompts": [1, 2], "nextCursor": ""}}, "[9] 2 prompts, and more"),
        ({"id": 9, "result": {"protocolVersion": "v"}}, "[9] : v"),
        ({"id": 9, "result": {}}, "[9] result"),
    ],
)  # fmt: skip
def test_a_message_in_a_few_words(message: Mapping[str, Any], label: str) -> None:
    assert Correspondence().label("x", text(**message)) == label


def test_a_response_is_named_after_its_request() -> None:
    names = Correspondence()
    names.label("x", text(id=1, method="prompts/get", params={"name": "p"}))
    assert names.label("x", text(id=1, result={"messages": []})) == "[1] prompts/get"
    assert names.label("y", text(id=1, result={"messages": []})) == "[1] result"


@pytest.mark.parametrize("data", ["[]", "hello", {"hex": "ff"}, {"other": 1}, None, "{"])
def test_what_is_no_message_has_no_object(data: Any) -> None:
    assert object_of(data) is None


def test_what_is_no_message_is_shown_as_it_is() -> None:
    assert Correspondence().label("x", "hello\tthere") == "no message: hello there"
    assert Correspondence().label("x", {"hex": "ff00"}) == "no message: ff00"


def test_long_texts_are_cut() -> None:
    assert shorten("a" * 61) == "a" * 59 + "…"
    assert shorten("a" * 60) == "a" * 60


@pytest.mark.parametrize(
    ("kind", "fields", "label"),
    [
        ("negotiated", {"version": "v"}, "speaks v"),
        ("negotiation-failed", {"reason": "r"}, "no revision: r"),
        ("disconnected", {"reason": "r"}, "disconnected: r"),
        ("channel", {"live": True, "reason": "r"}, "changes are announced: yes (r)"),
        ("channel", {"live": False, "reason": "r"}, "changes are announced: no (r)"),
        ("invalidated", {"reason": "r"}, "the list is stale: r"),
        ("updated", {"asked": 1, "items": [1], "verified": True}, "holds 1 prompt (asked by [1]), verified"),
        ("listed", {"asked": 1, "items": [], "fresh": True}, "is told 0 prompts (asked by [1]), fresh"),
        ("rendered", {"texts": ["a", None]}, "has rendered: a, None"),
        ("gone", {"name": "p"}, "p is gone"),
        ("failed", {"what": "get", "reason": "r"}, "get failed: r"),
        ("odd", {"text": "t"}, "odd: t"),
        ("wire-failed", {"reason": "r"}, "the connection broke: r"),
        ("rest", {"verified": False}, "at rest, holds nothing (asked by [None])"),
        ("rest", {}, "at rest"),
        ("something", {}, "something"),
    ],
)
def test_a_report_in_a_few_words(kind: str, fields: Mapping[str, Any], label: str) -> None:
    assert report_label(kind, fields) == label


def test_commands_and_faults_in_a_few_words() -> None:
    assert command_label("get", {"name": "p"}) == "calls get p"
    assert command_label("edit", {"put": [("a", "v1")], "remove": ["b"]}) == "now has a v1, without b"
    assert command_label("edit", {}) == "now has nothing new"
    assert fault_label("freeze", {"node": "c", "until": 2.5}) == "freeze node c until 2.5"


# --- the story ----------------------------------------------------------------------------------------


def test_clients_stand_left_of_servers(story: Story) -> None:
    assert story.lanes == ("c", "s")


def test_a_message_has_two_ends(story: Story) -> None:
    asked, changed, answered, rubbish = named(story, "message")
    assert (asked.about, asked.index, asked.arrives) == (("c", "s"), 5, 7)
    assert (changed.about, changed.arrives) == (("s", "c"), None)
    assert (answered.text, answered.arrives) == ("[1] 1 prompt", 12)
    assert (rubbish.about, rubbish.index, rubbish.arrives) == (("s", "c"), 15, 15)


def test_faults_strike_those_they_name(story: Story) -> None:
    assert [step.about for step in named(story, "fault")] == [("s",), ("s", "c"), ("s",)]


def test_what_nobody_needs_is_left_out(story: Story) -> None:
    told = {step.index for step in story.steps}
    assert not {0, 1, 2, 7, 13} & told


def test_one_side_of_a_conversation_has_a_peer() -> None:
    told = tell(
        trace((0.0, "node", "c", "", "client"), (0.1, "out", "c", "x", LIST), (0.3, "in", "c", "x", PAGE))
    )
    assert told.lanes == ("c", "peer")
    assert [step.about for step in told.steps] == [("c", "peer"), ("peer", "c")]


def test_a_lost_exchange_was_with_the_other_end_of_its_connection() -> None:
    told = tell(
        trace(
            (0.0, "node", "c", "", "client"),
            (0.0, "node", "s", "", "server"),
            (0.0, "open", "c", "x", None),
            (0.0, "open", "s", "x", None),
            (0.1, "out", "c", "x.1", LIST),
        )
    )
    assert told.lanes == ("c", "s")
    assert told.steps[-1].about == ("c", "s")


def test_a_trace_of_nothing_is_a_story_of_nothing() -> None:
    empty = tell(Trace())
    assert (empty.lanes, empty.steps) == ((), ())
    assert outline(empty) == ""
    assert mermaid(empty) == "sequenceDiagram\n"
    assert "a recording" in page(empty)
    assert "0 messages, 0 events, nothing" in page(empty)


def test_messages_stand_where_they_arrive(story: Story) -> None:
    assert outline(story).splitlines()[2:8] == [
        "     0.200  s      ▶ now has a v1",
        "     0.500  c → s    [1] prompts/list (sent 0.100)",
        "     0.500  s → c    prompts/list_changed (lost)",
        "     0.500  s      ⚡ delay",
        "     0.500  s c    ⚡ partition a s b c until 2.5",
        "     0.600  s → c    [1] 1 prompt",
    ]


def test_the_middle_of_a_long_outline_is_left_out(story: Story) -> None:
    lines = outline(story, most=6).splitlines()
    assert len(lines) == 7
    assert lines[2] == "         …"
    assert lines[-1].endswith("✗ C1: a list is <fresh> that is not")


# --- the diagram --------------------------------------------------------------------------------------


def test_a_diagram(story: Story) -> None:
    lines = [line.strip() for line in mermaid(story).splitlines()]
    assert lines[:3] == ["sequenceDiagram", "participant n_c as c", "participant n_s as s"]
    assert "n_c->>n_s: [1] prompts/list (0.4 s)" in lines
    assert "n_s-xn_c: prompts/list_changed (lost)" in lines
    assert "Note over n_s,n_c: ⚡ 0.500 partition a s b c until 2.5" in lines
    assert "Note over n_c,n_s: 1.000 calm" in lines
    assert lines[-1] == "Note over n_c,n_s: ✗ 2.000 C1: a list is #lt;fresh#gt; that is not"


def test_the_middle_of_a_long_diagram_is_left_out(story: Story) -> None:
    lines = [line.strip() for line in mermaid(story, most=6).splitlines()]
    assert len(lines) == 3 + 6 + 1
    assert lines[5] == f"Note over n_c,n_s: … {len(story.steps) - 6} steps …"


def test_names_become_identifiers() -> None:
    odd = tell(trace((0.0, "node", "end c; x", "", "client"), (0.0, "op", "end c; x", "", ["list", {}])))
    assert "participant n_end_20c_3b_20x as end c; x" in mermaid(odd)


# --- the page -----------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if values.get("href"):
            self.links.append(str(values["href"]))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader


def test_every_step_leads_to_what_is_behind_it(story: Story) -> None:
    reader = read(page(story))
    inside = {link[1:] for link in reader.links if link.startswith("#")}
    assert {f"e{step.index}" for step in story.steps} <= inside
    assert {f"e{step.index}" for step in story.steps} <= set(reader.ids)
    assert len(reader.ids) == len(set(reader.ids))


def test_a_page_loads_nothing_and_runs_nothing(story: Story) -> None:
    html = page(story, checker=PROPERTIES[0])
    assert not {"script", "img", "iframe", "object"} & set(read(html).tags)
    assert "url(http" not in html
    assert "src=" not in html
    assert "@import" not in html


def test_a_page_says_what_broke_and_what_it_took(story: Story) -> None:
    html = page(story, checker=PROPERTIES[0], needed=[("split", 3, 2)])
    assert "small, seed 7" in html
    assert f"C1 {PROPERTIES[0].title}" in html
    assert f"/{PROPERTIES[0].anchor}" in html
    assert "C1: a list is &lt;fresh&gt; that is not" in html
    assert "split = 2" in html


def test_a_page_of_another_property_names_no_place(story: Story) -> None:
    html = page(story, checker=PROPERTIES[1])
    assert PROPERTIES[1].anchor not in html
    assert "C1: a list is" in html


def test_data_is_text_on_a_page(story: Story) -> None:
    html = page(story)
    assert "Server <started>" not in html
    assert "Server &lt;started&gt;" in html


def test_what_is_lost_and_what_is_to_blame_are_marked(story: Story) -> None:
    html = page(story)
    assert len(re.findall(r'<a class="message lost"', html)) == 1
    assert len(re.findall(r'<a class="connection cause"', html)) == 1


def test_a_message_that_arrives_at_once_takes_one_row() -> None:
    begin = (0.0, "node", "c", "", "client"), (0.0, "node", "s", "", "server")
    at_once = trace(*begin, (0.1, "out", "c", "x", LIST), (0.2, "in", "s", "x", LIST))
    later = trace(
        *begin, (0.1, "out", "c", "x", LIST), (0.1, "op", "s", "", ["list", {}]), (0.2, "in", "s", "x", LIST)
    )

    def height(made: Trace) -> int:
        found = re.search(r'<svg width="\d+" height="(\d+)"', page(tell(made)))
        assert found is not None
        return int(found[1])

    assert height(later) - height(at_once) == 2 * 26


def test_every_world_makes_a_page() -> None:
    for seed in range(3):
        told = tell(run_seed(TORTURE, seed).trace)
        read(page(told))
        assert mermaid(told).count("\n") <= 210
        assert outline(told)


# --- the test -----------------------------------------------------------------------------------------


def run_file(text: str) -> None:
    """Run a test file's test."""
    space: dict[str, Any] = {}
    exec(compile(text, "test_regression.py", "exec"), space)  # noqa: S102  # it is what is tested
    tests = [value for name, value in space.items() if name.startswith("test_")]
    assert len(tests) == 1
    tests[0]()


def test_the_test_fails_with_the_mistake(failed: Outcome) -> None:
    with pytest.raises(AssertionError, match="C1"):
        run_file(regression_test(failed, "simulated_variants:DIRTY"))


def test_the_test_passes_without_it(failed: Outcome) -> None:
    run_file(regression_test(failed))


def test_the_test_tells_the_story(failed: Outcome) -> None:
    written = regression_test(failed, "some.module:NAME")
    assert written.startswith('"""C1 read your notifications: ')
    assert "from some.module import NAME as SCENARIO" in written
    assert "def test_c1_read_your_notifications() -> None:" in written
    assert "prompts/list" in written


def test_what_a_lenient_replay_supplies_is_left_out() -> None:
    record = [("a", 2, 0), ("b", 2, 0), ("a", 2, 1), ("a", 2, 0), ("c", 2, 0)]
    assert loud(record) == (("a", 2, 0), ("a", 2, 1))


def test_there_is_no_test_for_what_holds() -> None:
    with pytest.raises(ValueError, match="every property held"):
        regression_test(run_seed(TORTURE, 0, PROPERTIES))


def test_the_file_is_one(failed: Outcome, tmp_path: Path) -> None:
    file = tmp_path / "test_regression.py"
    file.write_text(regression_test(failed), encoding="utf-8")
    compile(file.read_text(encoding="utf-8"), file.name, "exec")
    assert all(len(line) <= 110 for line in file.read_text(encoding="utf-8").splitlines())


def test_every_standard_scenario_is_where_it_is_said_to_be() -> None:
    for name, place in SCENARIOS.items():
        module, _, attribute = place.partition(":")
        assert getattr(importlib.import_module(module), attribute).name == name
