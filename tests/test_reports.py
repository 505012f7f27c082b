"""What has gone wrong between other people's clients and servers, where no room of its own has a test for it.

Framing, lists, changes, arguments, handshakes and endings have their tests where they are built; here is what
spans several of them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from asking import LEGACY, MODERN, SILENT, Asking, both_eras, failure
from serving import LIST_CHANGED
from web import Web

from mcp_sansio import CallFailed, OpFailed, PromptRequested, RpcError, WalkFailed

MCP_SANSIO = (sys.executable, "-m", "mcp_sansio_adapters")
NO_PROMPTS = RpcError(-32601, "prompts not supported")


# --- servers without prompts ----------------------------------------------------------------------------


@both_eras
def test_a_method_that_a_server_lacks_costs_no_connection(version: str) -> None:
    """Clients asked every server for its prompts, and left those that had none."""
    asking = Asking(version, declared={"tools": {}})
    call = asking.client.request("prompts/list", None, 0.0)
    asking.refuse(-32601)
    assert asking.every(CallFailed) == [CallFailed(call, RpcError(-32601, "no"))]
    asking.client.request("tools/list", None, 0.0)
    asking.one("tools/list")


@both_eras
def test_what_an_error_means_is_its_code_whatever_it_says(version: str) -> None:
    """Clients looked for "Method not found" in the text, and failed for good where it said something else."""
    asking = Asking(version, declared=SILENT)
    op = asking.prompts.list(0.0)
    asking.error(asking.one("prompts/list")["id"], -32601, "prompts not supported")
    assert failure(asking, op) == WalkFailed("error", NO_PROMPTS)
    again = asking.prompts.list(0.0)
    asking.page(["a"])
    assert not isinstance(asking.end(again), OpFailed)


# --- envelopes over HTTP ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_request_with_a_null_id_is_refused(version: str) -> None:
    """Servers took it for a notification, said 202, and the client waited."""
    web = Web()
    message = {"id": None, "method": "prompts/list"}
    if version == MODERN:
        reply = web.post(message, {"MCP-Protocol-Version": MODERN, "Mcp-Method": "prompts/list"})
    else:
        reply = web.session().post(message)
    assert (reply.status, reply.code) == (400, -32600)


@pytest.mark.parametrize("member", [b"", b'"jsonrpc":"1.0",'])
def test_a_request_of_another_protocol_is_answered(member: bytes) -> None:
    """Servers dropped it without a word."""
    reply = Web().session().raw(b'{%b"id":99,"method":"prompts/list"}' % member)
    assert (reply.status, reply.code, reply.json["id"]) == (400, -32600, 99)


# --- changes without a channel ----------------------------------------------------------------------------


def test_a_change_made_by_a_handler_fails_nobody_and_is_told_later() -> None:
    """Where nobody listened, the notification was lost, or the call that had caused it failed."""
    web = Web()
    session = web.session()
    reply = session.call("prompts/get", {"name": "p0000"})
    (asked,) = web.of(PromptRequested)
    web.edit("new")
    web.prompts.answer(asked, "done", 0.0)
    assert reply.take().json["result"]["messages"][0]["content"]["text"] == "done"
    assert [event["method"] for event in session.open("GET").events] == [LIST_CHANGED]


# --- names and arguments on the command line ---------------------------------------------------------------


def get(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Render a prompt of a folder."""
    command = [*MCP_SANSIO, "get", *arguments, "--", *MCP_SANSIO, "serve", str(folder)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose one prompt has a space in its name, and two arguments."""
    front = "---\narguments: [{name: name, required: true}, {name: style}]\n---\n"
    (tmp_path / "User Summary.md").write_text(front + "{{name}} in <{{style}}>, {{name}}")
    return tmp_path


@pytest.mark.live
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--arg", "name=123", "--arg", "style=formal"), "123 in <formal>, 123"),
        (("--arg", "style=a=b", "--arg", 'name= "x y" '), ' "x y"  in <a=b>,  "x y" '),
        (("--arg", "name="), " in <>, "),
    ],
)
def test_names_and_values_go_through_as_they_are(folder: Path, arguments: tuple[str, ...], text: str) -> None:
    """Names with spaces could not be called, values were cut at spaces, and an empty one was missing."""
    done = get(folder, "User Summary", *arguments)
    assert (done.stdout, done.stderr) == (f"{text}\n", "")


@pytest.mark.live
def test_words_that_belong_to_nothing_are_refused(folder: Path) -> None:
    """All of them went into the first argument."""
    done = get(folder, "User Summary", "123", "formal")
    assert (done.returncode, done.stdout) == (2, "")
    assert "123 formal" in done.stderr
