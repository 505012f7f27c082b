"""A server that does one thing wrong, named by the rule that it breaks, and all else right, in both eras.

It stands on nothing but the standard library. `faulty_server.py FAULT` speaks over stdio; with `--port` it
speaks over HTTP, at a URL that it tells on stdout.
"""

import argparse
import http.server
import json
import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, ClassVar

Json = dict[str, Any]
PREFIX = "io.modelcontextprotocol/"
IDENTITY = {"name": "faulty", "version": "1.0"}
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
CHANGED = "notifications/prompts/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
FORM = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object"}}}
PAGES: list[list[Json]] = [
    [{"name": "a"}, {"name": "b", "arguments": [{"name": "x", "required": True}]}],
    [{"name": "c"}],
]
"""The pages of the list."""


def refused(code: int, text: str = "no", **data: Any) -> Json:
    return {"error": {"code": code, "message": text, **({"data": data} if data else {})}}


class Faulty:
    """Makes the messages that answer a message."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.tell: Callable[[Json], None] = lambda _message: None

    def has(self, *faults: str) -> bool:
        return self.fault in faults

    def handle(self, asked: Json) -> None:
        """Tell all that is to be told about one message."""
        if "method" not in asked:
            return
        if "id" not in asked:
            self.notified(asked["method"])
            return
        meta = asked.get("params", {}).get("_meta", {})
        version = meta.get(f"{PREFIX}protocolVersion")
        reply = self.legacy(asked) if version is None else self.modern(asked, version, meta)
        if self.has("jsonrpc.no-reply") and "inspect" in asked["method"]:
            return
        if reply is not None:
            number = str(asked["id"]) if self.has("jsonrpc.reply-id") else asked["id"]
            self.tell({"id": number, **reply})

    def notified(self, method: str) -> None:
        if "inspect" not in method:
            return
        if self.has("prompts.list-changed"):
            self.tell({"method": CHANGED})
        if self.has("jsonrpc.answered-notification"):
            self.tell({"id": None, **refused(-32601)})
        if self.has("jsonrpc.null-id"):
            self.tell({"id": None, "method": "ping"})
        if self.has("legacy.undeclared-request"):
            self.tell({"id": 1, "method": "roots/list"})
        if self.has("modern.request"):
            self.tell({"id": 1, "method": "ping"})

    @property
    def capabilities(self) -> Json:
        declared: Json = {"prompts": {} if self.has("prompts.list-changed") else {"listChanged": True}}
        if self.has("completion.values", "input.method"):
            declared["completions"] = {}
        return {} if self.has("prompts.declared") else declared

    # --- the eras -----------------------------------------------------------------------------------

    def legacy(self, asked: Json) -> Json | None:
        """The answer to a legacy request."""
        method, params = asked["method"], asked.get("params", {})
        if method == "initialize":
            wanted = params["protocolVersion"]
            known = wanted in LEGACY or self.has("initialize.version")
            info = {"name": "faulty"} if self.has("initialize.result") else IDENTITY
            chosen = wanted if known else LEGACY[-1]
            return {
                "result": {"protocolVersion": chosen, "capabilities": self.capabilities, "serverInfo": info}
            }
        if method == "ping":
            return {"result": {"pong": 1} if self.has("ping.empty") else {}}
        return self.common(method, params)

    def modern(self, asked: Json, version: str, meta: Json) -> Json | None:
        """The answer to a modern request."""
        method, params = asked["method"], asked["params"]
        if version != MODERN and not self.has("modern.unknown-version"):
            data: Json = {"supported": [MODERN], "requested": version}
            return refused(-32022, **({} if self.has("modern.version-data") else data))
        if f"{PREFIX}clientCapabilities" not in meta and not self.has("modern.required-meta"):
            return refused(-32602)
        if method == "subscriptions/listen":
            self.listen(asked["id"])
            return None
        if method == "server/discover":
            found = {"supportedVersions": [MODERN], "capabilities": self.capabilities}
            if self.has("modern.discover"):
                del found["supportedVersions"]
            return self.complete(found, cached=True)
        reply = self.common(method, params)
        if "result" not in reply or reply["result"].get("resultType"):
            return reply
        scope = "private" if self.has("modern.mixed-scopes") and params.get("cursor") else "public"
        return self.complete(reply["result"], cached=method == "prompts/list", scope=scope)

    def complete(self, result: Json, *, cached: bool, scope: str = "public") -> Json:
        whole: Json = {"resultType": "complete", **result}
        whole["_meta"] = {f"{PREFIX}serverInfo": IDENTITY}
        if cached:
            whole |= {"ttlMs": 1000, "cacheScope": scope}
        spoilt: Json = {"modern.ttl": {"ttlMs": -1}, "modern.cache-scope": {"cacheScope": "shared"}}
        whole |= {name: value for name, value in spoilt.get(self.fault, {}).items() if cached}
        left_out = {
            "modern.result-type": "resultType",
            "modern.server-info": "_meta",
            "modern.cache-hints": "ttlMs",
        }
        whole.pop(left_out.get(self.fault, ""), None)
        return {"result": whole}

    def listen(self, number: object) -> None:
        tag = {"_meta": {f"{PREFIX}subscriptionId": number}}
        first = {"method": ACKNOWLEDGED, "params": {**tag, "notifications": {"promptsListChanged": True}}}
        told = [{"method": CHANGED, "params": tag}]
        if self.has("subscriptions.tag"):
            told = [{"method": CHANGED}]
        if self.has("subscriptions.unwanted"):
            told = [{"method": "notifications/tools/list_changed", "params": tag}]
        order = [*told, first] if self.has("subscriptions.first") else [first, *told]
        for each in [] if self.has("subscriptions.acknowledged") else order:
            self.tell(each)

    # --- what is the same in both ------------------------------------------------------------------------

    def common(self, method: str, params: Json) -> Json:
        if method == "prompts/list":
            return self.list(params.get("cursor"))
        if method == "prompts/get":
            return self.get(params["name"], params.get("arguments", {}))
        if method == "completion/complete":
            return self.completion()
        spoilt = {"jsonrpc.unknown-method": -32602, "jsonrpc.error": "-32601"}
        return {"error": {"code": spoilt.get(self.fault, -32601), "message": "no"}}

    def list(self, cursor: str | None) -> Json:
        if cursor not in (None, "1"):
            return refused(0 if self.has("prompts.invalid-cursor") else -32602)
        page = [*PAGES[cursor == "1"]]
        result: Json = {"prompts": page}
        if cursor is None:
            result["nextCursor"] = "1"
        elif self.has("prompts.next-cursor"):
            result["nextCursor"] = None
        if cursor is None and self.has("prompts.unique"):
            page.append(page[0])
        if cursor is None and self.has("prompts.list"):
            page.append({"title": "nameless"})
        if cursor is not None and self.has("prompts.unique-pages"):
            page.append(PAGES[0][0])
        return {"result": result}

    def get(self, name: str, arguments: Json) -> Json:
        if name in ("a", "c"):
            return self.rendered()
        if name != "b":
            return refused(0 if self.has("prompts.unknown-name") else -32602)
        if "x" not in arguments:
            return refused(0 if self.has("prompts.missing-argument") else -32602)
        text = isinstance(arguments["x"], str) or self.has("prompts.argument-type")
        return self.rendered() if text else refused(-32602)

    def rendered(self) -> Json:
        if self.has("input.undeclared"):
            return self.wanting(inputRequests={"form": FORM})
        if self.has("input.empty"):
            return self.wanting()
        if self.has("hang"):
            time.sleep(1000)
        role = "system" if self.has("prompts.message") else "user"
        return {"result": {"messages": [{"role": role, "content": {"type": "text", "text": ""}}]}}

    def completion(self) -> Json:
        if self.has("input.method"):
            return self.wanting(requestState="x")
        if self.has("modern.reserved-code"):
            return refused(-32002)
        if self.has("jsonrpc.result"):
            return {"result": []}
        values = {"completion.declared": 1, "completion.values": 101}
        if self.fault not in values:
            return refused(-32601)
        return {"result": {"completion": {"values": ["v"] * values[self.fault]}}}

    def wanting(self, **members: Any) -> Json:
        meta = {f"{PREFIX}serverInfo": IDENTITY}
        return {"result": {"resultType": "input_required", "_meta": meta, **members}}


# --- stdio ------------------------------------------------------------------------------------------


def write(message: Any) -> None:
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


class Mixed:
    """Gives two answers each the other's id, if they are due at about the same time."""

    def __init__(self) -> None:
        self.held: list[Json] = []
        self.lock = threading.Lock()

    def tell(self, message: Json) -> None:
        with self.lock:
            self.held.append(message)
            if len(self.held) == 1:
                threading.Timer(0.1, self.release).start()

    def release(self) -> None:
        with self.lock:
            held, self.held = self.held, []
        ids = [each["id"] for each in held if "id" in each]
        for each in held:
            write({"jsonrpc": "2.0", **each, **({"id": ids.pop()} if "id" in each else {})})


def speak_lines(server: Faulty) -> None:
    if server.has("stdio.noise"):
        print("ready", flush=True)
    version = {} if server.has("jsonrpc.version") else {"jsonrpc": "2.0"}
    server.tell = lambda message: write(
        {**(version if message.get("result") == {} else {"jsonrpc": "2.0"}), **message}
    )
    if server.has("mixed-ids"):
        server.tell = Mixed().tell
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, dict):
            server.handle(asked)
        elif not server.has("jsonrpc.batch"):
            plain, together = server.tell, list[Json]()
            server.tell = together.append
            for each in asked:
                server.handle(each)
            server.tell = plain
            write([{"jsonrpc": "2.0", **each} for each in together])


# --- HTTP -------------------------------------------------------------------------------------------


class Handler(http.server.BaseHTTPRequestHandler):
    """One exchange. Legacy clients get sessions."""

    protocol_version = "HTTP/1.1"
    fault: ClassVar[str] = ""
    sessions: ClassVar[set[str]] = set()

    def log_message(self, *_arguments: object) -> None: ...

    def do_GET(self) -> None:
        self.reply(404 if self.fault == "http.get" else 405)

    def do_DELETE(self) -> None:
        if self.fault != "http.ended-session":
            self.sessions.discard(self.headers["Mcp-Session-Id"])
        self.reply(204)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "Origin" in self.headers and self.fault != "http.origin":
            self.reply(403)
        elif isinstance(asked, dict) and f"{PREFIX}protocolVersion" in asked.get("params", {}).get(
            "_meta", {}
        ):
            self.modern(asked)
        else:
            self.legacy(asked)

    def legacy(self, asked: Any) -> None:
        version = self.headers.get("MCP-Protocol-Version", LEGACY[-1])
        method = asked.get("method") if isinstance(asked, dict) else None
        if version not in LEGACY and self.fault != "http.unknown-version":
            self.reply(400)
        elif method != "initialize" and self.headers.get("Mcp-Session-Id") not in self.sessions:
            self.reply(404)
        elif method == "initialize":
            session = uuid.uuid4().hex + (" spaced" if self.fault == "http.session-id" else "")
            self.sessions.add(session)
            self.answer(asked, {"Mcp-Session-Id": session})
        else:
            self.answer(asked, {})

    def modern(self, asked: Json) -> None:
        if self.headers["Mcp-Method"] != asked["method"] and self.fault != "http.header-mismatch":
            self.json(400, {"id": asked["id"], **refused(-32020)}, {})
        elif asked["method"] == "subscriptions/listen":
            self.stream(asked)
        else:
            self.answer(asked, {})

    def answer(self, asked: Any, fields: dict[str, str]) -> None:
        told: list[Json] = []
        server = Faulty(self.fault)
        server.tell = told.append
        for each in [asked] if isinstance(asked, dict) else asked:
            server.handle(each)
        modern = isinstance(asked, dict) and "_meta" in asked.get("params", {})
        if not told:
            self.reply(200 if self.fault == "http.notification" else 202)
        elif isinstance(asked, dict):
            self.json(self.status(told[-1]) if modern else 200, told[-1], fields)
        else:
            self.json(200, told, fields)

    def status(self, reply: Json) -> int:
        code = reply.get("error", {}).get("code")
        if code == -32602:
            malformed = reply["id"] == 2 and self.fault == "http.malformed"
            return 200 if malformed else 400
        if code == -32022:
            return 200 if self.fault == "http.error-status" else 400
        return 404 if code == -32601 and self.fault != "http.unknown-method" else 200

    def json(self, status: int, reply: Any, fields: dict[str, str]) -> None:
        told = reply if isinstance(reply, list) else [reply]
        whole = [{"jsonrpc": "2.0", **each} for each in told]
        body = json.dumps(whole if isinstance(reply, list) else whole[0]).encode()
        plain = self.fault == "http.content-type" and told[0].get("result") == {}
        media = "text/plain" if plain else "application/json"
        self.reply(status, {**fields, "Content-Type": media}, body)

    def reply(self, status: int, fields: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in (fields or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, asked: Json) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        server = Faulty(self.fault)
        server.tell = self.event
        server.handle(asked)
        self.rfile.read(1)  # until the client is gone

    def event(self, message: Json) -> None:
        self.wfile.write(b"data: " + json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n\n")
        self.wfile.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("fault")
    parser.add_argument("--port", type=int)
    options = parser.parse_args()
    if options.port is None:
        speak_lines(Faulty(options.fault))
        return
    Handler.fault = options.fault
    with http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler) as server:
        server.daemon_threads = True
        print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
