"""What `mcp-sansio inspect` finds: planted faults, each by its own rule alone; nothing in a clean server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from live import faulty_server, our_server, sdk_server, served

import mcp_sansio_adapters.demo
from mcp_sansio import MessagePassed
from mcp_sansio_adapters.inspect.conversation import Conversation, Heard
from mcp_sansio_adapters.inspect.rule import judged
from mcp_sansio_adapters.inspect.rules import RULES

SAMPLES = Path(mcp_sansio_adapters.demo.__file__).parent / "samples"
PAGE = Path(__file__).parent.parent / "docs" / "inspect.md"
OURS = (sys.executable, "-m", "mcp_sansio_adapters", "serve", str(SAMPLES))

LEGACY_FAULTS = (
    *("stdio.noise", "jsonrpc.answered-notification", "jsonrpc.unknown-method", "jsonrpc.error"),
    *("jsonrpc.no-reply", "jsonrpc.null-id", "jsonrpc.result", "jsonrpc.version"),
    *("initialize.result", "initialize.version", "ping.empty", "legacy.undeclared-request"),
    *("prompts.declared", "prompts.list", "prompts.next-cursor", "prompts.unique", "prompts.unique-pages"),
    *("prompts.invalid-cursor", "prompts.unknown-name", "prompts.missing-argument", "prompts.message"),
    *("prompts.argument-type", "prompts.list-changed", "completion.declared", "completion.values"),
)
MODERN_FAULTS = (
    *("modern.result-type", "modern.server-info", "modern.cache-hints", "modern.ttl", "modern.cache-scope"),
    *("modern.mixed-scopes", "modern.reserved-code", "modern.request", "modern.discover"),
    *("modern.unknown-version", "modern.version-data", "modern.required-meta"),
    *("subscriptions.tag", "subscriptions.first", "subscriptions.acknowledged", "subscriptions.unwanted"),
    *("input.empty", "input.method", "input.undeclared"),
)
BOTH_ERAS = ("jsonrpc.unknown-method", "prompts.next-cursor", "prompts.unknown-name", "prompts.message")
LEGACY_HTTP_FAULTS = (
    *("http.content-type", "http.notification", "http.session-id", "http.ended-session", "http.get"),
    *("http.unknown-version", "http.origin"),
)
MODERN_HTTP_FAULTS = (
    *("http.notification", "http.origin", "http.unknown-method", "http.error-status", "http.malformed"),
    *("http.header-mismatch", "subscriptions.acknowledged", "modern.ttl"),
)
ELSEWHERE = ("jsonrpc.batch", "jsonrpc.reply-id")
"""Rules that have tests of their own below."""


SILENT = ("jsonrpc.no-reply", "subscriptions.acknowledged")
"""Faults that show only after some time."""


def inspected(*words: str, timeout: int = 20) -> tuple[int, dict[str, Any]]:
    """The exit code and the report."""
    line = (sys.executable, "-m", "mcp_sansio_adapters", "inspect", "--json", "--timeout", str(timeout))
    command = (*line, *words)
    done = subprocess.run(command, capture_output=True, check=False, timeout=100)
    assert done.stdout, done.stderr.decode()
    return done.returncode, json.loads(done.stdout)


def found(report: dict[str, Any]) -> list[str]:
    return [finding["id"] for finding in report["findings"]]


def test_every_rule_has_a_planted_fault() -> None:
    planted = {*LEGACY_FAULTS, *MODERN_FAULTS, *LEGACY_HTTP_FAULTS, *MODERN_HTTP_FAULTS, *ELSEWHERE}
    assert planted == {rule.id for rule in RULES}
    assert len(RULES) == len(planted)


def test_the_page_has_every_rule() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `[\w.-]+` \| (?:MUST|SHOULD) \|.*$", text, re.MULTILINE)
    assert rows == [rule.row for rule in RULES]


@pytest.mark.live
@pytest.mark.parametrize(
    ("era", "fault"),
    [
        *(("legacy", fault) for fault in LEGACY_FAULTS),
        *(("modern", fault) for fault in (*MODERN_FAULTS, *BOTH_ERAS)),
    ],
)
def test_a_planted_fault_is_found_and_nothing_else(era: str, fault: str) -> None:
    code, report = inspected("--era", era, "--", *faulty_server(fault), timeout=3 if fault in SILENT else 20)
    assert found(report) == [fault]
    assert code == (report["findings"][0]["level"] == "MUST")


@pytest.mark.live
@pytest.mark.parametrize(
    ("era", "fault"),
    [
        *(("legacy", fault) for fault in LEGACY_HTTP_FAULTS),
        *(("modern", fault) for fault in MODERN_HTTP_FAULTS),
    ],
)
def test_a_fault_over_http_is_found_and_nothing_else(era: str, fault: str) -> None:
    with served(faulty_server(fault)) as server:
        code, report = inspected("--era", era, server.url, timeout=3 if fault in SILENT else 20)
    assert (code, found(report)) == (1, [fault])


@pytest.mark.live
def test_batches_are_for_the_one_revision_that_has_them() -> None:
    fault = ("--", *faulty_server("jsonrpc.batch"))
    assert found(inspected("--protocol-version", "2025-03-26", *fault)[1]) == ["jsonrpc.batch"]
    assert found(inspected("--protocol-version", "2025-06-18", *fault)[1]) == []


@pytest.mark.live
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_answers_to_questions_asked_at_once_have_their_own_ids(era: str) -> None:
    _, report = inspected("--era", era, "--", *faulty_server("mixed-ids"))
    assert "jsonrpc.unknown-method" in found(report)
    assert "jsonrpc.reply-id" not in found(report)


@pytest.mark.live
def test_a_server_that_no_client_can_live_with_is_judged_by_what_was_heard() -> None:
    code, report = inspected("--era", "legacy", "--", *faulty_server("jsonrpc.reply-id"), timeout=3)
    assert (code, report["era"], report["version"]) == (1, None, "2025-11-25")
    assert found(report) == ["jsonrpc.reply-id", "jsonrpc.no-reply"]


@pytest.mark.live
@pytest.mark.parametrize("command", [("true",), ("echo", "no server"), ("cat",)])
def test_what_never_answers_is_no_server_and_is_not_judged(command: tuple[str, ...]) -> None:
    line = (sys.executable, "-m", "mcp_sansio_adapters", "inspect", "--timeout", "1", "--era", "legacy")
    done = subprocess.run((*line, "--", *command), capture_output=True, check=False, timeout=100)
    assert (done.returncode, done.stdout) == (3, b"")


def test_a_conversation_is_kept_up_to_a_limit_and_silence_then_means_nothing() -> None:
    heard = Heard(limit=3000)
    for number in range(20):
        heard(MessagePassed(True, b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % number))
        heard(MessagePassed(False, b'{"jsonrpc":"2.0","id":%d,"result":{}}' % number))
    assert heard.cut
    assert heard.settled == {*range(20)}
    assert len(heard.entries) == 5
    talk = Conversation(heard.entries, "stdio", "2025-11-25", cut=heard.cut)
    assert judged(RULES, [talk]) == ()
    talk = Conversation(heard.entries, "stdio", "2025-11-25")
    assert [finding.rule.id for finding in judged(RULES, [talk])] == ["jsonrpc.no-reply"]


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_prompt_that_never_answers_is_no_fault(era: str) -> None:
    with served(faulty_server("hang")) as server:
        code, report = inspected("--era", era, server.url, timeout=3)
    assert (code, found(report)) == (0, [])
    code, report = inspected("--era", era, "--", *faulty_server("hang"), timeout=3)
    assert (code, found(report)) == (0, [])


@pytest.mark.live
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
def test_a_server_without_faults_is_clean_in_every_revision(revision: str) -> None:
    for command in (faulty_server("none"), OURS):
        code, report = inspected("--protocol-version", revision, "--", *command)
        assert (code, found(report), report["version"]) == (0, [], revision)
    with served(faulty_server("none")) as server:
        code, report = inspected("--protocol-version", revision, server.url)
    assert (code, found(report), report["version"]) == (0, [], revision)


@pytest.mark.live
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_report_says_what_the_server_is(era: str) -> None:
    _, report = inspected("--era", era, "--", *faulty_server("none"))
    hints = [None, None] if era == "legacy" else [1000, "public"]
    listed = {"count": 3, "pages": 2, "same": True, "ttlMs": hints[0], "cacheScope": hints[1]}
    assert report["prompts"] == listed
    assert report["server"] == {"name": "faulty", "version": "1.0"}
    assert report["capabilities"] == {"prompts": {"listChanged": True}}


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_our_server_and_the_official_one_are_clean_over_http(era: str) -> None:
    for command in (our_server("asyncio"), our_server("uvicorn"), sdk_server(http=True)):
        with served(command) as server:
            code, report = inspected("--era", era, server.url, timeout=3)
        assert (code, found(report), report["era"]) == (0, [], era)


@pytest.mark.live
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_official_server_is_clean(era: str) -> None:
    code, report = inspected("--era", era, "--", *sdk_server())
    assert (code, found(report), report["era"]) == (0, [], era)


@pytest.mark.slow
@pytest.mark.live
def test_the_official_server_does_not_answer_batches_in_the_revision_that_has_them() -> None:
    _, report = inspected("--protocol-version", "2025-03-26", "--", *sdk_server())
    assert found(report) == ["jsonrpc.batch"]
    with served(sdk_server(http=True)) as server:
        _, report = inspected("--protocol-version", "2025-03-26", server.url)
    assert found(report) == ["jsonrpc.batch"]
