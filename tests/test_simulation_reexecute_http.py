"""A client and a server over HTTP, recorded, while the network does to their exchanges what it likes.

Requests are refused, sent elsewhere, cut, delayed and overtaken; time passes, prompts change, calls are given
up, sessions expire. Whatever happened, either end does the same when it is executed again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import attrs
import pytest
from recordings.server import CONFIG, SERVING, catalogue

from mcp_sansio import (
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    Client,
    ClientConfig,
    ClientExchange,
    End,
    Head,
    HttpExchange,
    HttpServerConfig,
    Implementation,
    ListingConfig,
    LocalProtocolError,
    Prompt,
    PromptClient,
    PromptRequested,
    PromptServer,
    Server,
)
from mcp_sansio._sse import COMMENT
from mcp_sansio._trace import Trace
from mcp_sansio.simulation import RecordedClient, RecordedServer, reexecute
from mcp_sansio_adapters.recording import Recorder, hide

REFUSALS: tuple[tuple[int, list[tuple[str, str]]], ...] = (
    (100, []),
    (503, [("Retry-After", "1")]),
    (404, []),
    (401, [("WWW-Authenticate", "Bearer")]),
    (200, [("Content-Encoding", "gzip")]),
    (307, [("Location", "/there?token=1")]),
    (308, [("Location", "http://elsewhere.invalid/")]),
)
HTTP: dict[str, Any] = {"keep_alive": 1.0, "session_timeout": 5.0, "max_body": 2000}


@attrs.define(eq=False)
class Pair:
    """One exchange, as both ends have it."""

    asked: ClientExchange
    served: HttpExchange | None = None
    body: deque[bytes] = attrs.field(factory=deque[bytes])
    reply: deque[Head | bytes | End] = attrs.field(factory=deque[Head | bytes | End])


class Chaos:
    """Both ends, and what happens to them."""

    def __init__(self, seed: int, versions: tuple[str, ...], **options: Any) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self.lines: list[bytes] = []
        recorder = Recorder(self.lines.append, clock=lambda: self.now, **options)
        me = Implementation("c", "1")
        config = ClientConfig(info=me, versions=versions, backoff=0.1, jitter=self.random.random)
        config = attrs.evolve(config, quiet_timeout=20.0, answers=("ping",))
        self.near = recorder.of_client()
        self.prompts = PromptClient(ListingConfig(max_wait=0.2))
        self.client = Client(self.near.begin(config, self.prompts.listing.config), self.prompts)
        self.catalogue = catalogue()
        self.server = Server(CONFIG, PromptServer(self.catalogue, SERVING))
        self.far = recorder.of_server(self.server)
        ids = map("session-{}".format, range(1, 1000))
        self.config = HttpServerConfig(new_session_id=lambda: next(ids), **HTTP)
        self.http = self.far.http_server(self.server, self.config)
        secret = {"headers": [("Authorization", "secret")], "request_headers": self.more}
        heard = {"on_message": self.near.listener(None), "origin": "http://localhost"}
        self.out = self.near.http_client(self.client, "/mcp?token=secret", 0.0, **secret, **heard)
        self.pairs: list[Pair] = []
        self.jobs: list[PromptRequested] = []
        self.ops: list[Any] = []

    def run(self, steps: int) -> Trace:
        """So many things happen."""
        usual: list[Callable[[], None]] = [*[self.move] * 12, self.wait, self.ask, self.work]
        for _ in range(steps):
            all_kinds = self.random.random() < 0.3
            self.random.choice([*usual, self.edit, self.give_up] if all_kinds else usual)()
            self.pump()
        self.near.command("close", self.now, reason="enough")
        self.client.close(self.now, "enough")
        self.pump()
        self.far.command("close", self.now)
        self.server.close(self.now)
        self.pump()
        return Trace.parse(self.lines)

    def more(self, _: Any) -> list[tuple[str, str]]:
        """What the application adds to a request."""
        if self.random.random() < 0.1:
            raise ValueError("that went wrong")
        return [("X-Drawn", str(self.random.randrange(9)))]

    # --- what happens ---

    def pump(self) -> None:
        """What adapters do after everything."""
        while self.client.next_ready() is not None:
            pass
        self.pairs += [Pair(exchange) for exchange in iter(self.out.next_exchange, None)]
        while (event := self.client.next_event()) is not None:
            self.near.event(event)
        while self.server.next_ready() is not None:
            pass
        while (told := self.server.next_event()) is not None:
            self.far.event(told)
            self.jobs += [told] if isinstance(told, PromptRequested) else []

    def wait(self) -> None:
        self.now += self.random.choice((0.01, 0.2, 1.0, 6.0))
        self.near.due(self.client.next_timeout(), self.now)
        self.client.handle_timeout(self.now)
        self.far.due(self.server.next_timeout(), self.now)
        self.server.handle_timeout(self.now)

    def ask(self) -> None:
        if self.client.done:
            return
        verb = self.random.choice(("list", "refresh", "get"))
        data = {"name": self.random.choice(("slow", "unknown"))} if verb == "get" else {}
        self.near.command(verb, self.now, **data)
        given = (data["name"], None) if data else ()
        op = getattr(self.prompts, verb)(*given, now=self.now)
        self.near.began(op, data.get("name"))
        self.ops.append(op)

    def give_up(self) -> None:
        if self.ops:
            op = self.ops.pop(self.random.randrange(len(self.ops)))
            self.near.command("cancel", self.now, op=op.number)
            self.prompts.cancel(op, self.now)

    def work(self) -> None:
        if self.jobs:
            asked = self.jobs.pop()
            self.far.progress(asked.request, self.now, value=1, total=None, message=None)
            with suppress(LocalProtocolError):
                self.server.progress(asked.request, 1, self.now)
            self.far.fail(asked.request, "it broke", self.now)
            with suppress(LocalProtocolError):
                self.server.fail(asked.request, "it broke", self.now)

    def edit(self) -> None:
        if "one" in self.catalogue.snapshot.names:
            self.catalogue.remove("one")
        else:
            self.catalogue.add(Prompt("one"))
        self.far.command("changed", self.now, topic="promptsListChanged")
        self.server.changed("promptsListChanged", self.now)

    # --- the network ---

    def move(self) -> None:
        """Something happens to one of the exchanges that are under way."""
        self.pairs = [pair for pair in self.pairs if not self.over(pair)]
        if self.pairs:
            pair = self.random.choice(self.pairs)
            if self.random.random() < 0.02:
                self.cut(pair)
            elif pair.served is None:
                self.arrive(pair)
            elif pair.body and not pair.served.closed:
                self.upload(pair, pair.served)
            else:
                self.download(pair, pair.served)

    def over(self, pair: Pair) -> bool:
        if pair.asked.closed and pair.served is not None and self.random.random() < 0.5:
            pair.served.abort(self.now, "the client is gone")
        return pair.asked.closed

    def cut(self, pair: Pair) -> None:
        pair.asked.abort(self.now, "it broke")
        if pair.served is not None:
            pair.served.abort(self.now)

    def arrive(self, pair: Pair) -> None:
        """At the server, or at somebody who has an answer of his own."""
        asked = pair.asked
        if self.client.version is not None and self.random.random() < 0.1:
            status, fields = self.random.choice(REFUSALS)
            asked.receive_head(status, fields, self.now)
            asked.receive_data(b"<html>", self.now)
            asked.receive_eof(self.now)
            return
        host = "localhost" if self.random.random() < 0.97 else "evil.example"
        fields = [("host", host), *((name.lower(), value) for name, value in asked.headers)]
        pair.served = self.http.exchange(
            *(asked.method, asked.target, fields, self.now),
            principal=self.random.choice((None, *["p"] * 19)),
            on_message=self.far.listener(None),
        )
        long = b" " * 3000 if self.random.random() < 0.02 else b""
        pair.body = deque([asked.body[:9], asked.body[9:], long, b"end"] if asked.body else [b"end"])

    def upload(self, pair: Pair, served: HttpExchange) -> None:
        piece = pair.body.popleft()
        if piece == b"end":
            served.receive_eof(self.now)
        else:
            served.receive_data(piece, self.now)

    def download(self, pair: Pair, served: HttpExchange) -> None:
        """Events get ids on their way, and comments."""
        pair.reply += served.outputs()
        for part in [*pair.reply]:
            pair.reply.popleft()
            if isinstance(part, Head):
                pair.asked.receive_head(part.status, part.headers, self.now)
            elif isinstance(part, End):
                pair.asked.receive_eof(self.now)
            elif part.startswith(b"event:"):
                for piece in (COMMENT, b"id: %d\nretry: 50\n" % len(self.lines), part[:20], part[20:]):
                    pair.asked.receive_data(piece, self.now)
            else:
                pair.asked.receive_data(part, self.now)


each_era = pytest.mark.parametrize("versions", [LEGACY_VERSIONS, MODERN_VERSIONS], ids=["legacy", "modern"])


def again(chaos: Chaos, trace: Trace) -> list[object]:
    server = RecordedServer.of(trace, "server-1", CONFIG, SERVING, chaos.config)
    client = RecordedClient.of(trace, "client-1")
    return [reexecute(trace, "client-1", client), reexecute(trace, "server-1", server)]


@each_era
@pytest.mark.parametrize("seed", range(30))
def test_whatever_happened_happens_again(seed: int, versions: tuple[str, ...]) -> None:
    chaos = Chaos(seed, versions)
    trace = chaos.run(400)
    assert b"secret" not in b"".join(chaos.lines)
    assert [str(each) for each in again(chaos, trace) if each] == []


@each_era
@pytest.mark.parametrize("seed", range(10))
def test_a_client_does_where_something_is_hidden(seed: int, versions: tuple[str, ...]) -> None:
    chaos = Chaos(seed, versions, redact=hide("message"))
    trace = chaos.run(400)
    assert b"unknown prompt" not in b"".join(chaos.lines)
    assert again(chaos, trace)[0] is None
