"""What `mcp-sansio inspect` finds: planted faults, each by its own rule alone; nothing in a clean server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from live import sdk_server

import mcp_sansio_adapters.demo

SERVER = r"""
import json, sys
fault, tell = sys.argv[1], lambda m: print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
prompts = [{"name": "a"}, {"name": "b", "arguments": [{"name": "x", "required": True}]}]
declared = {} if fault == "prompts.declared" else {"prompts": {}}
page, extra, code = {"prompts": prompts}, {}, -32602
if fault == "prompts.next-cursor": page["nextCursor"] = None
if fault == "prompts.unique": prompts.append({"name": "a"})
if fault == "prompts.list": prompts.append({"title": "nameless"})
if fault == "stdio.noise": print("ready", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked.get("method", ""), asked.get("params", {})
    if "id" not in asked or not method:
        if fault == "prompts.list-changed": tell({"method": "notifications/prompts/list_changed"})
        if fault == "jsonrpc.answered-notification" and "inspect" in method:
            tell({"id": None, "error": {"code": -32601, "message": "no"}})
        continue
    reply, name = {"error": {"code": -32601, "message": "no"}}, params.get("name")
    refused = lambda rule: {"error": {"code": 0 if fault == rule else -32602, "message": "no"}}
    if method == "initialize":
        info = {"name": "s"} if fault == "initialize.result" else {"name": "s", "version": "1"}
        version = params["protocolVersion"]
        reply = {"result": {"protocolVersion": version, "capabilities": declared, "serverInfo": info}}
    elif method == "ping":
        reply = {"result": {"pong": 1} if fault == "ping.empty" else {}}
    elif method == "prompts/list":
        reply = refused("prompts.invalid-cursor") if "cursor" in params else {"result": page}
    elif method == "prompts/get" and name == "a":
        role = "system" if fault == "prompts.message" else "user"
        reply = {"result": {"messages": [{"role": role, "content": {"type": "text", "text": ""}}]}}
    elif method == "prompts/get":
        reply = refused("prompts.missing-argument" if name == "b" else "prompts.unknown-name")
    elif method == "completion/complete" and fault in ("completion.declared", "completion.values"):
        if fault == "completion.declared": reply = {"result": {"completion": {"values": []}}}
    elif "inspect" in method and fault == "jsonrpc.unknown-method":
        reply["error"]["code"] = -32602
    elif "inspect" in method and fault == "jsonrpc.error":
        reply["error"]["code"] = "-32601"
    tell({"id": asked["id"], **reply})
    if method == "prompts/list" and fault == "legacy.undeclared-request":
        tell({"id": 1, "method": "roots/list"})
"""

SAMPLES = Path(mcp_sansio_adapters.demo.__file__).parent / "samples"

FAULTS = (
    *("stdio.noise", "jsonrpc.answered-notification", "jsonrpc.unknown-method", "initialize.result"),
    *("ping.empty", "prompts.declared", "prompts.list", "prompts.next-cursor", "prompts.unique"),
    *("prompts.invalid-cursor", "prompts.unknown-name", "prompts.missing-argument", "prompts.message"),
    *("prompts.list-changed", "completion.declared", "legacy.undeclared-request"),
)


def inspected(*words: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the report."""
    command = (sys.executable, "-m", "mcp_sansio_adapters", "inspect", "--json", "--timeout", "5", *words)
    done = subprocess.run(command, capture_output=True, check=False, timeout=100)
    return done.returncode, json.loads(done.stdout)


def found(report: dict[str, Any]) -> list[str]:
    return [finding["id"] for finding in report["findings"]]


@pytest.mark.live
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_and_nothing_else(fault: str) -> None:
    code, report = inspected("--era", "legacy", "--", sys.executable, "-c", SERVER, fault)
    assert found(report) == [fault]
    assert code == (report["findings"][0]["level"] == "MUST")


@pytest.mark.live
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_server_without_faults_is_clean(revision: str) -> None:
    words = ("--protocol-version", revision, "--", sys.executable, "-c", SERVER, "none")
    code, report = inspected(*words)
    assert (code, found(report), report["version"]) == (0, [], revision)


@pytest.mark.live
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_our_server_and_the_official_one_are_clean(era: str) -> None:
    ours = (sys.executable, "-m", "mcp_sansio_adapters", "serve", str(SAMPLES))
    for command in (ours, sdk_server()):
        code, report = inspected("--era", era, "--", *command)
        assert (code, found(report), report["era"]) == (0, [], era)
