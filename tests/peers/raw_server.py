"""A stdio server written by hand, one JSON object a line, that misbehaves as its options say.

It stands on nothing but the standard library and the prompts of `registry.py`, answers one request after the
other and is well-behaved by default, in both eras, so that each option is the only thing wrong with it. The
official server can do none of this: hold its tongue, die half-way, answer one page for ever, drown its client
in noise.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from registry import CONTROL, MissingArgumentError, Registry, UnknownPromptError

Json = dict[str, Any]
PREFIX = "io.modelcontextprotocol/"
IDENTITY = {"name": "raw-peer", "version": "1.0"}
CAPABILITIES: Json = {"prompts": {"listChanged": True}, "completions": {}}
LIST_CHANGED = "notifications/prompts/list_changed"


class Refusal(Exception):
    """A request that is answered with an error: code and message."""


def write(message: Json) -> None:
    """Put one message on the wire."""
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


class Server:
    """Answers requests, each by the method of its name, and keeps what the misbehaviour needs to remember."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.registry = Registry(options.prompts)
        self.frozen = self.registry.list()
        self.requests = 0
        self.session = False
        self.listeners: list[Any] = []
        self.methods: dict[str, Callable[[Json], Json]] = {
            "initialize": self.initialize,
            "ping": lambda _params: {},
            "server/discover": self.discover,
            "prompts/list": self.list,
            "prompts/get": self.get,
            "completion/complete": self.complete,
        }

    def run(self) -> None:
        """Read lines until the end of the input."""
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "method" in message and "id" in message:
                self.request(message)
            elif message.get("method") == "notifications/cancelled":
                self.cancelled(message["params"]["requestId"])

    def request(self, message: Json) -> None:
        """Answer one request, unless an option forbids it."""
        self.requests += 1
        if self.requests == self.options.exit_at:
            sys.exit(self.options.exit_code)
        if self.requests == self.options.close_at:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        method, params = message["method"], message.get("params", {})
        if method in self.options.mute:
            return
        if method == "subscriptions/listen":
            self.listen(message["id"])
        elif method in self.methods:
            self.answer(message["id"], self.methods[method], params)
        elif not self.options.silent:
            write({"id": message["id"], "error": {"code": -32601, "message": f"Method not found: {method}"}})

    def answer(self, ident: Any, handler: Callable[[Json], Json], params: Json) -> None:
        """Write the handler's result, in the shape of the era in which the request was made."""
        try:
            result = handler(params)
        except Refusal as refusal:
            code, text = refusal.args
            write({"id": ident, "error": {"code": code, "message": text}})
            return
        if f"{PREFIX}protocolVersion" in params.get("_meta", {}):
            result |= {"resultType": "complete", "_meta": {f"{PREFIX}serverInfo": IDENTITY}}
        write({"id": ident, "result": result})

    def initialize(self, params: Json) -> Json:
        """Agree to any revision, or insist on the one that was configured."""
        self.session = True
        version = self.options.revision or params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": IDENTITY}

    def discover(self, _params: Json) -> Json:
        """Say what a modern server is; a legacy one does not know the method."""
        if self.options.legacy:
            raise Refusal(-32601, "Method not found: server/discover")
        hints = {"ttlMs": 0, "cacheScope": "private"}
        return {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES, **hints}

    def listen(self, ident: Any) -> None:
        """Open a stream: acknowledged at once, answered never."""
        tag = {f"{PREFIX}subscriptionId": ident}
        self.listeners.append(ident)
        notifications = {"promptsListChanged": True}
        params = {"notifications": notifications, "_meta": tag}
        write({"method": "notifications/subscriptions/acknowledged", "params": params})

    def cancelled(self, ident: Any) -> None:
        """Forget a stream; any other request is long answered."""
        if ident in self.listeners:
            self.listeners.remove(ident)

    def list(self, params: Json) -> Json:
        """One page; a cursor is an offset."""
        shown = self.frozen if self.options.stale else self.registry.list()
        cursor = "0" if self.options.ignore_cursors else params.get("cursor", "0")
        if not (isinstance(cursor, str) and cursor.isdecimal()):
            raise Refusal(-32602, "Invalid cursor")
        offset = int(cursor)
        end = offset + self.options.page
        result: Json = {"prompts": shown[offset:end]}
        if self.options.same_cursor:
            result["nextCursor"] = "0"
        elif end < len(shown):
            result["nextCursor"] = str(end)
        if f"{PREFIX}protocolVersion" in params.get("_meta", {}):
            result |= {"ttlMs": 0, "cacheScope": "private"}
        return result

    def get(self, params: Json) -> Json:
        """Render a prompt, or change the registry."""
        name, arguments = params["name"], params.get("arguments", {})
        try:
            if name == CONTROL:
                self.registry.change(**arguments)
                self.notify()
                text = f"revision {self.registry.revision}"
            else:
                text = self.registry.render(name, arguments)
        except UnknownPromptError as error:
            raise Refusal(self.options.unknown_code, f"Unknown prompt: {name}") from error
        except MissingArgumentError as error:
            raise Refusal(-32602, f"Missing required argument: {error}") from error
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    def notify(self) -> None:
        """Say that the list changed: on every stream, and to the session if there is one."""
        if self.options.quiet:
            return
        for ident in self.listeners:
            write({"method": LIST_CHANGED, "params": {"_meta": {f"{PREFIX}subscriptionId": ident}}})
        if self.session:
            write({"method": LIST_CHANGED})

    def complete(self, params: Json) -> Json:
        """Complete an argument of a prompt."""
        argument = params["argument"]
        values = self.registry.complete(params["ref"]["name"], argument["name"], argument["value"])
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}


def noise(options: argparse.Namespace) -> None:
    """What comes before the first answer: a banner on stdout, a flood on stderr."""
    if options.banner:
        print(options.banner, flush=True)
    unit = b"x" * 64 if options.unbroken else b"x" * 63 + b"\n"
    sys.stderr.buffer.write(unit * (options.stderr // 64))
    sys.stderr.buffer.flush()


def linger() -> NoReturn:
    """Stay alive until somebody kills us."""
    while True:
        time.sleep(3600)


def main() -> None:
    """Read the command line and serve until the client closes our input."""
    parser = argparse.ArgumentParser(description=__doc__)
    option = parser.add_argument
    option("--prompts", type=int, default=30, help="how many prompts to serve")
    option("--page", type=int, default=10, help="prompts per page")
    option("--legacy", action="store_true", help="know no server/discover")
    option("--revision", help="what initialize answers, whatever was asked for")
    option("--silent", action="store_true", help="never answer an unknown method")
    option("--mute", action="append", default=[], metavar="METHOD", help="never answer this method")
    option("--banner", help="a first line on stdout that is no message")
    option("--stderr", type=int, default=0, metavar="BYTES", help="write so much to stderr before reading")
    option("--unbroken", action="store_true", help="stderr without newlines")
    option("--exit-at", type=int, metavar="N", help="exit on the Nth request; 0 is at once")
    option("--exit-code", type=int, default=0)
    option("--close-at", type=int, metavar="N", help="close stdout on the Nth request and live on")
    option("--ignore-cursors", action="store_true", help="every page is the first")
    option("--same-cursor", action="store_true", help="every page names the same cursor")
    option("--stale", action="store_true", help="the list never changes, whatever the notifications say")
    option("--quiet", action="store_true", help="never notify")
    option("--unknown-code", type=int, default=-32602, help="the error code for an unknown prompt")
    option("--ignore-eof", action="store_true", help="live on when our input ends")
    option("--ignore-sigterm", action="store_true")
    options = parser.parse_args()
    if options.ignore_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    noise(options)
    if options.exit_at == 0:
        sys.exit(options.exit_code)
    Server(options).run()
    if options.ignore_eof:
        linger()


if __name__ == "__main__":
    main()
