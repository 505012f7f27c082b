"""The command line over HTTP: a folder served at a port, and asked for by its URL.

What is there instead of a server is played by threads of this process, over sockets all the same.
"""

from __future__ import annotations

import http.client
import http.server
import json
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import trustme
from serving import MODERN, TOPIC, envelope
from test_cli import MCP_SANSIO, SAMPLES, Fails, fails, run

from mcp_sansio_adapters.cli import app
from mcp_sansio_adapters.cli.explain import Exit

live = pytest.mark.live

__all__ = ["fails"]  # a fixture is found by its name


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A folder served over HTTP, and its URL."""
    at = () if "--http" in options else ("--http", "0")
    command = (*MCP_SANSIO, "serve", str(folder), *at, *options)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("mcp-sansio: serving at http://")
            yield line.split()[3].rstrip(","), process
        finally:
            process.kill()


@live
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_folder_is_served_and_asked_for_by_its_url(era: str) -> None:
    with served(SAMPLES, "--page-size", "5") as (url, process):
        listed = run("list", "--era", era, "--json", url)
        assert listed.returncode == Exit.DONE, listed.stderr
        names = [prompt["name"] for prompt in json.loads(listed.stdout)["prompts"]]
        assert len(names) == len([*SAMPLES.rglob("*.md")])
        got = run("get", url, "code/review", "--arg", "diff=+1", "--era", era, "--header", "X-Y: z")
        assert got.returncode == Exit.DONE, got.stderr
        assert "+1" in got.stdout
        gone = run("get", url, "code/reviw", "--era", era)
        assert (gone.returncode, gone.stdout) == (Exit.REFUSED, "")
        assert "did you mean 'code/review'?" in gone.stderr
        process.send_signal(signal.SIGTERM)
        assert process.wait() == Exit.DONE


@live
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order_though_somebody_listens(how: signal.Signals) -> None:
    params = {"notifications": {TOPIC: True}, "_meta": envelope()}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"}
    with served(SAMPLES) as (url, process), asked(url, "subscriptions/listen", params, headers) as stream:
        assert b"acknowledged" in stream.readline() + stream.readline()
        process.send_signal(how)
        assert b'"resultType":"complete"' in stream.read()
        assert process.wait() == Exit.DONE
        assert process.stderr is not None
        assert process.stderr.read() == ""


@live
@pytest.mark.parametrize(
    ("address", "host"),
    [("0", "127.0.0.1"), (":0", "127.0.0.1"), ("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "[::1]")],
)
def test_an_address_may_be_a_port_alone(address: str, host: str) -> None:
    if host == "[::1]" and not has_ipv6():
        pytest.skip("this machine has no IPv6 loopback address")
    with served(SAMPLES, "--http", address) as (url, _):
        assert url.startswith(f"http://{host}:")
        assert run("list", url).returncode == Exit.DONE


def has_ipv6() -> bool:
    with suppress(OSError), socket.socket(socket.AF_INET6) as sock:
        sock.bind(("::1", 0))
        return True
    return False


@live
@pytest.mark.parametrize(("form", "media"), [("json", "application/json"), ("sse", "text/event-stream")])
def test_the_form_of_replies_can_be_chosen(form: str, media: str) -> None:
    with served(SAMPLES, "--reply", form) as (url, _):
        assert initialized(url) == (200, media)
        assert run("list", url).returncode == Exit.DONE


@live
def test_who_is_served_beyond_this_machine_is_asked_for() -> None:
    with served(SAMPLES, "--http", "0.0.0.0:0") as (_, process):
        assert process.stderr is not None
        assert "--allow-host" in process.stderr.readline()


@live
def test_only_loopback_names_are_answered_unless_others_are_allowed() -> None:
    page = {"Origin": "https://prompts.example"}
    with served(SAMPLES) as (url, _):
        assert initialized(url, {"Host": "prompts.example"})[0] == 403
        assert initialized(url, page)[0] == 403
    options = ("--allow-host", "prompts.example", "--allow-origin", page["Origin"])
    with served(SAMPLES, *options) as (url, _):
        assert initialized(url, {"Host": "prompts.example", **page})[0] == 200
        assert initialized(url, {"Host": "other.example"})[0] == 403


def initialized(url: str, headers: Mapping[str, str] | None = None) -> tuple[int, str | None]:
    """Status and media type of the answer to an `initialize`."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    with asked(url, "initialize", params, headers or {}) as answer:
        return answer.status, answer.getheader("Content-Type")


@contextmanager
def asked(
    url: str, method: str, params: Mapping[str, Any], headers: Mapping[str, str]
) -> Iterator[http.client.HTTPResponse]:
    """The answer to a request."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    connection = http.client.HTTPConnection(url.removeprefix("http://").removesuffix("/mcp"), timeout=60)
    standard = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    connection.request("POST", "/mcp", body, {**standard, **headers})
    with connection.getresponse() as answer:
        yield answer
    connection.close()


@live
def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    with served(SAMPLES) as (url, _):
        port = url.rpartition(":")[2].partition("/")[0]
        other = run("serve", str(SAMPLES), "--http", f"127.0.0.1:{port}")
        assert other.returncode == Exit.NO_SERVER
        assert other.stderr.count("\n") == 1
        assert "cannot listen at 127.0.0.1" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("list", "server.py"), Exit.USAGE, "'server.py' does not; a command stands after --."),
        (("list", "http://x:99999"), Exit.USAGE, "99999 is no port"),
        (("list", "ftp://x"), Exit.USAGE, "a URL begins with http:// or https://"),
        (("get", "http://x", "name", "--", "server"), Exit.USAGE, "Too many words: http://x name; write"),
        (("list", "--header", "A: b", "--", "server"), Exit.USAGE, "--header is for servers that are a URL"),
        (("list", "http://x", "--header", "nonsense"), Exit.USAGE, "a header is written as 'Name: value'"),
        (("list", "http://x", "--header", "Host: b"), Exit.USAGE, "written by the library"),
        (("list", "http://x", "--header", "A: b", "--header", "a: c"), Exit.USAGE, "'a' is given twice"),
        (("get", "http://x", "name", "other"), Exit.USAGE, "Too many words"),
        (("serve", str(SAMPLES), "--http", "localhost"), Exit.USAGE, "is no address"),
        (("serve", str(SAMPLES), "--http", "localhost:70000"), Exit.USAGE, "is no address"),
        (("serve", str(SAMPLES), "--http", "::1:80"), Exit.USAGE, "or [::1]:PORT"),
        (("serve", str(SAMPLES), "--allow-host", "x"), Exit.USAGE, "are for --http"),
        (("serve", str(SAMPLES), "--reply", "sse"), Exit.USAGE, "are for --http"),
    ],
)
def test_what_is_wrong_is_told(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, said: str
) -> None:
    assert app.run(arguments) == code
    out, errors = capsys.readouterr()
    assert out == ""
    assert said in errors
    assert errors.count("\n") == 1


# --- what is there instead of a server ---

WEB_PAGE = b"<!DOCTYPE html>\n<html><head><title>Welcome</title></head></html>"
HTML = {"Content-Type": "text/html; charset=utf-8"}
ELSEWHERE = {"Location": "https://login.example/start?secret=1"}


Answer: TypeAlias = tuple[int, Mapping[str, str], bytes]


@contextmanager
def answering(answer: Callable[[Any], Answer], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """The URL of somebody who answers every message like this."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, headers, body = answer(message)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            pass  # a handshake that the client breaks off

    with Server(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}/mcp"
        finally:
            server.shutdown()
            thread.join()


@live
@pytest.mark.parametrize(
    ("status", "headers", "body", "check"),
    [
        (401, {"WWW-Authenticate": "Bearer"}, b"", "whether it knows you (--header 'Authorization: …'): "),
        (403, {}, b"Forbidden", "whether it knows you (--header 'Authorization: …'): "),
        (421, {}, b"Invalid Host header", "by which names it may be reached (of `serve`: --allow-host): "),
        (404, {}, b"Not Found", "the path of the URL: "),
        (200, HTML, WEB_PAGE, "the path of the URL, for what is there is a web page: "),
        (404, HTML, WEB_PAGE, "the path of the URL, for what is there is a web page: "),
        (405, {"Allow": "GET"}, b"", "the path of the URL: "),
        (502, HTML, WEB_PAGE, "whether the server is well: "),
        (302, ELSEWHERE, b"", "the URL, for it leads elsewhere: "),
        (308, ELSEWHERE, b"", "the URL, for it leads elsewhere: "),
        (200, {"Content-Type": "application/json"}, b"[]", "the URL: "),
    ],
)
def test_what_is_no_server_is_told_by_what_to_look_at(
    fails: Fails, status: int, headers: Mapping[str, str], body: bytes, check: str
) -> None:
    with answering(lambda _: (status, headers, body)) as url:
        said = fails(Exit.NO_SERVER, "list", url)
    assert said.startswith(f"no server, check {check}")
    assert status == 200 or f"HTTP {status}" in said
    assert "secret" not in said
    assert ("https://login.example/start" in said) == (headers is ELSEWHERE)
    assert ("HTTP+SSE transport of 2024-11-05" in said) == (status in (404, 405))


@live
def test_who_is_known_no_more_is_told_what_to_look_at(fails: Fails) -> None:
    def answer(message: Any) -> Answer:
        if message["method"] != "initialize":
            return (202, {}, b"") if "id" not in message else (401, {}, b"expired")
        info = {"name": "t", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"prompts": {}}, "serverInfo": info}
        whole = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return 200, {"Content-Type": "application/json"}, json.dumps(whole).encode()

    with answering(answer) as url:
        said = fails(Exit.REFUSED, "list", "--era", "legacy", url)
    assert "HTTP 401 expired" in said
    assert said.endswith("; check whether it knows you (--header 'Authorization: …')")


@live
def test_nobody_listens_there(fails: Fails) -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        url = f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"
        assert fails(Exit.NO_SERVER, "list", url, "--timeout", "0.3") == (
            "no server, check the URL: no answer within 0.3 s"
        )
    said = fails(Exit.NO_SERVER, "list", url)
    assert said.startswith("no server, check the port of the URL, and whether the server runs: ")


@live
def test_a_name_that_nobody_has(fails: Fails) -> None:
    said = fails(Exit.NO_SERVER, "list", "http://no-such-host.invalid/mcp")
    assert said.startswith("no server, check the host of the URL: ")


@live
def test_https_is_told_apart_from_http_and_needs_a_certificate_that_is_trusted(
    fails: Fails, tmp_path: Path
) -> None:
    with answering(lambda _: (200, {}, b"")) as url:
        said = fails(Exit.NO_SERVER, "list", url.replace("http:", "https:"))
    assert said.startswith("no server, check whether it is http:// rather than https://: ")
    with answering(lambda _: (401, {}, b""), certified(tmp_path)) as url:
        said = fails(Exit.NO_SERVER, "list", url)
        trusting = run("list", url, SSL_CERT_FILE=str(tmp_path / "certificate.pem"))
    assert said.startswith("no server, check its certificate (SSL_CERT_FILE names whom to trust): ")
    assert "HTTP 401" in trusting.stderr


def certified(folder: Path) -> ssl.SSLContext:
    """TLS for 127.0.0.1; what a client has to trust is in the folder."""
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.cert_pem.write_to_path(folder / "certificate.pem")
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context
