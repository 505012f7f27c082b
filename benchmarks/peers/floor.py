"""The floor: the least Python that does the same typed work, written for each row by hand.

No state machine, no negotiation, no timeouts, no limits and no errors: bytes are decoded by msgspec into structs, which
become frozen attrs values of the same shape as the library's, and encoded by hand where they can be. A page that is
byte for byte the last one is not read again, and a prompt that is not new is not made again. What is above the floor is
what a protocol costs.
"""

from __future__ import annotations

import socket
import subprocess
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit

import attrs
import h11
import msgspec

from benchmarks import work
from benchmarks.peers import remote
from benchmarks.peers.job import Job

# --- what comes over the wire ---


class WireRequest(msgspec.Struct, gc=False):
    id: int
    method: str
    params: msgspec.Raw = msgspec.Raw()


class WireReply(msgspec.Struct, gc=False):
    id: int
    result: msgspec.Raw


class WireArgument(msgspec.Struct, gc=False):
    name: str
    title: str | None = None
    description: str | None = None
    required: bool | None = None


class WirePrompt(msgspec.Struct, gc=False):
    name: str
    title: str | None = None
    description: str | None = None
    arguments: tuple[WireArgument, ...] = ()


class WirePage(msgspec.Struct, gc=False, rename="camel"):
    prompts: list[WirePrompt]
    next_cursor: str | None = None


class WireRawPage(msgspec.Struct, gc=False, rename="camel"):
    prompts: list[msgspec.Raw]
    next_cursor: str | None = None


class WireText(msgspec.Struct, gc=False, tag_field="type", tag="text"):
    text: str


class WireMessage(msgspec.Struct, gc=False):
    role: str
    content: WireText


class WireRendered(msgspec.Struct, gc=False):
    messages: list[WireMessage]
    description: str | None = None


class WireListParams(msgspec.Struct, gc=False):
    cursor: str | None = None


class WireGetParams(msgspec.Struct, gc=False):
    name: str
    arguments: dict[str, str] = {}


class WireListenMeta(msgspec.Struct, gc=False, rename={"subscription": "io.modelcontextprotocol/subscriptionId"}):
    subscription: int


class WireNotificationParams(msgspec.Struct, gc=False, rename={"meta": "_meta"}):
    meta: WireListenMeta


class WireNotification(msgspec.Struct, gc=False):
    method: str
    params: WireNotificationParams


notification_of = msgspec.json.Decoder(WireNotification).decode
request_of = msgspec.json.Decoder(WireRequest).decode
reply_of = msgspec.json.Decoder(WireReply).decode
list_params_of = msgspec.json.Decoder(WireListParams).decode
get_params_of = msgspec.json.Decoder(WireGetParams).decode
page_of = msgspec.json.Decoder(WirePage).decode
raw_page_of = msgspec.json.Decoder(WireRawPage).decode
prompt_of = msgspec.json.Decoder(WirePrompt).decode
rendered_of = msgspec.json.Decoder(WireRendered).decode
encode = msgspec.json.Encoder().encode

# --- what the application gets ---


@attrs.frozen(weakref_slot=False)
class Argument:
    name: str
    title: str | None
    description: str | None
    required: bool | None


@attrs.frozen(weakref_slot=False)
class Prompt:
    name: str
    title: str | None
    description: str | None
    arguments: tuple[Argument, ...]


@attrs.frozen(weakref_slot=False)
class Text:
    text: str


@attrs.frozen(weakref_slot=False)
class Message:
    role: str
    content: Text


def thawed(cls: type, *fields: str) -> type:
    """A class of the same layout that can be filled without asking; its instances become `cls`."""
    return attrs.make_class(cls.__name__, fields, slots=True, weakref_slot=False, eq=False, repr=False)


_ThawedArgument = thawed(Argument, "name", "title", "description", "required")
_ThawedPrompt = thawed(Prompt, "name", "title", "description", "arguments")


def argument_from(wire: WireArgument) -> Any:
    """An argument for the application."""
    made = _ThawedArgument(wire.name, wire.title, wire.description, wire.required)
    made.__class__ = Argument
    return made


def prompt_from(wire: WirePrompt) -> Any:
    """A prompt for the application."""
    arguments = tuple([argument_from(each) for each in wire.arguments])
    made = _ThawedPrompt(wire.name, wire.title, wire.description, arguments)
    made.__class__ = Prompt
    return made


# --- both sides ---

META = encode(work.META)
TAIL = b',"ttlMs":60000,"cacheScope":"public","resultType":"complete","_meta":%b}' % encode(
    {"io.modelcontextprotocol/serverInfo": {"name": "benchmark", "version": "1"}}
)


class Server:
    """Prompts as bytes, pages that are kept, and two methods."""

    def __init__(self, prompts: int, page: int) -> None:
        self.parts = [encode(spec) for spec in work.specs(prompts)]
        self.names = {work.name(number) for number in range(prompts)}
        self.page = page
        self.pages: dict[int, bytes] = {}

    def put(self, spec: dict[str, Any]) -> None:
        """Edit a prompt."""
        self.parts[work.EDITED] = encode(spec)
        self.pages.pop(work.EDITED // self.page, None)

    def serve(self, line: bytes) -> bytes:
        """The reply to a request."""
        request = request_of(line)
        if request.method == "prompts/list":
            cursor = list_params_of(request.params).cursor
            number = int(cursor) if cursor is not None else 0
            result = self.pages.get(number) or self._page(number)
        else:
            params = get_params_of(request.params)
            if params.name not in self.names:
                raise ValueError(params.name)
            result = b'{"messages":[{"role":"user","content":{"type":"text","text":%b}}]%b' % (
                encode(work.render(params.arguments)),
                TAIL,
            )
        return b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (request.id, result)

    def _page(self, number: int) -> bytes:
        begin, end = number * self.page, (number + 1) * self.page
        more = b',"nextCursor":"%d"' % (number + 1) if end < len(self.parts) else b""
        prompts = b",".join(self.parts[begin:end])
        self.pages[number] = b'{"prompts":[%b]%b%b' % (prompts, more, TAIL)
        return self.pages[number]


class Far(Protocol):
    """Whoever replies."""

    def serve(self, line: bytes) -> bytes:
        """The reply to a request."""
        ...


class Client:
    """A list that is kept, and what it was made from."""

    def __init__(self, server: Far) -> None:
        self.server = server
        self.call = 0
        self.listed: dict[str, Prompt] = {}
        self._raw: dict[str | None, tuple[bytes, list[Any], str | None]] = {}
        self._known: dict[bytes, Prompt] = {}

    def _ask(self, method: bytes, params: bytes) -> msgspec.Raw:
        self.call += 1
        line = b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":{%b"_meta":%b}}\n' % (
            self.call,
            method,
            params,
            META,
        )
        reply = reply_of(self.server.serve(line).split(b"\n")[0])
        if reply.id != self.call:
            raise ValueError(reply.id)
        return reply.result

    def list_cold(self) -> None:
        """A list of which nothing is known."""
        cursor, listed = b"", {}
        while True:
            page = page_of(self._ask(b"prompts/list", cursor))
            for wire in page.prompts:
                listed[wire.name] = prompt_from(wire)
            if page.next_cursor is None:
                break
            cursor = b'"cursor":%b,' % encode(page.next_cursor)
        self.listed = listed

    def list(self) -> None:
        """A list that may be much like the last one."""
        cursor: str | None = None
        pages: list[list[Any]] = []
        moved = False
        while True:
            raw = bytes(self._ask(b"prompts/list", b'"cursor":%b,' % encode(cursor) if cursor else b""))
            last = self._raw.get(cursor)
            if last is None or last[0] != raw:
                last = self._raw[cursor] = self._read(raw)
                moved = True
            pages.append(last[1])
            cursor = last[2]
            if cursor is None:
                break
        if moved:
            self._known = {part: prompt for page in pages for part, prompt in page}
            self.listed = {prompt.name: prompt for page in pages for _, prompt in page}

    def _read(self, raw: bytes) -> tuple[bytes, list[Any], str | None]:
        page, known = raw_page_of(raw), self._known
        prompts: list[Any] = []
        for each in page.prompts:
            part = bytes(each)
            prompt = known.get(part)
            prompts.append((part, prompt_from(prompt_of(part)) if prompt is None else prompt))
        return raw, prompts, page.next_cursor

    def get(self, name: str, arguments: Mapping[str, str]) -> list[Message]:
        """A rendered prompt."""
        params = b'"name":%b,"arguments":%b,' % (encode(name), encode(arguments))
        wire = rendered_of(self._ask(b"prompts/get", params))
        return [Message(each.role, Text(each.content.text)) for each in wire.messages]


# --- the jobs ---


@asynccontextmanager
async def list_cold(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A list of which nothing is known."""
    client = Client(Server(prompts, 100))
    yield Job(client.list_cold, lambda: work.seen(client.listed.values()))


@asynccontextmanager
async def list_changed(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A prompt is edited, and the list asked for again."""
    server = Server(prompts, 100)
    client = Client(server)
    revision, spec = 0, work.spec(work.EDITED)

    def before() -> None:
        nonlocal revision, spec
        revision += 1
        spec = work.spec(work.EDITED, revision)

    def step() -> None:
        server.put(spec)
        client.list()

    yield Job(step, lambda: work.seen(client.listed.values()), before=before, revision=lambda: revision)


@asynccontextmanager
async def list_unchanged(prompts: int, era: str) -> AsyncGenerator[Job]:
    """The list is asked for again."""
    client = Client(Server(prompts, 100))
    yield Job(client.list, lambda: work.seen(client.listed.values()))


@asynccontextmanager
async def get(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A prompt is rendered, both ways."""
    client = Client(Server(prompts, 100))
    name = work.name(work.EDITED)
    messages: list[Message] = []

    def step() -> None:
        nonlocal messages
        messages = client.get(name, work.ARGUMENTS)

    yield Job(step, lambda: work.seen_messages(messages))


@attrs.frozen(weakref_slot=False)
class Listed:
    op: int
    listed: Mapping[str, Prompt]


@asynccontextmanager
async def cached_hit(prompts: int, era: str) -> AsyncGenerator[Job]:
    """The list that is there, if it is fresh, in an event that says which command it answers."""
    client = Client(Server(prompts, prompts))
    client.list()
    now, expires, events = 1.0, 60.0, deque[Listed]()
    op, last = 0, Listed(0, client.listed)

    def step() -> None:
        nonlocal op, last
        op += 1
        if now < expires:
            events.append(Listed(op, client.listed))
        last = events.popleft()

    yield Job(step, lambda: work.seen(last.listed.values()))


@asynccontextmanager
async def server_reply(method: str, prompts: int, era: str) -> AsyncGenerator[Job]:
    """The bytes of a request go in, those of a reply come out."""
    server = Server(prompts, prompts)
    reply = b""
    line = work.ask(method, era) + b"\n"

    def step() -> None:
        nonlocal reply
        reply = server.serve(line.split(b"\n")[0])

    yield Job(step, lambda: work.seen_reply(reply))


@asynccontextmanager
async def fan_out(listeners: int, era: str) -> AsyncGenerator[Job]:
    """Everybody gets the bytes of a notification, with the id of the request that asked for it, and reads them."""
    heads = [
        b'{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":'
        b'{"_meta":{"io.modelcontextprotocol/subscriptionId":%d}}}\n' % number
        for number in range(listeners)
    ]
    heard = [0] * listeners
    spec, server = work.spec(work.EDITED, 1), Server(100, 100)

    def before() -> None:
        heard[:] = [0] * listeners

    def step() -> None:
        server.put(spec)
        for number in range(listeners):
            notification = notification_of(heads[number].split(b"\n")[0])
            if notification.method == "notifications/prompts/list_changed":
                heard[notification.params.meta.subscription] += 1

    yield Job(step, lambda: [min(heard), max(heard)], before=before, units=listeners)


@asynccontextmanager
async def churn(clients: int, prompts: int, page: int, burst: int, era: str) -> AsyncGenerator[Job]:
    """Prompts are edited `burst` times; everybody is told once, and fetches the list."""
    server = Server(prompts, page)
    everybody = [Client(server) for _ in range(clients)]
    line = b'{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":%b}}\n' % (
        b'{"io.modelcontextprotocol/subscriptionId":1}'
    )
    edits: list[dict[str, Any]] = []
    revision = 0

    def before() -> None:
        nonlocal revision
        edits[:] = [work.spec(work.EDITED, revision + number + 1) for number in range(burst)]
        revision += burst

    def step() -> None:
        for spec in edits:
            server.put(spec)
        for client in everybody:
            if notification_of(line.split(b"\n")[0]).method == "notifications/prompts/list_changed":
                client.list()

    def answer() -> list[Any]:
        first, *others = [client.listed for client in everybody]
        agree = all(other == first for other in others)
        return work.seen(first.values()) if agree else ["they do not agree"]

    yield Job(step, answer, before=before, revision=lambda: revision, units=clients)


# --- with a server elsewhere ---


class Pipe:
    """A server at the other end of two pipes."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def serve(self, line: bytes) -> bytes:
        """The reply to a request."""
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise OSError("there are no pipes")
        process.stdin.write(line)
        process.stdin.flush()
        return process.stdout.readline()

    def close(self) -> None:
        """The end of the input is the end of the server."""
        with self._process:
            pass


class Socket:
    """A server at the other end of a connection; h11 does the grammar."""

    def __init__(self, url: str) -> None:
        self._where = urlsplit(url)
        self._socket = socket.create_connection((self._where.hostname, self._where.port))
        self._wire = h11.Connection(h11.CLIENT)

    def serve(self, line: bytes) -> bytes:
        """The reply to a request."""
        wire, method = self._wire, request_of(line).method
        headers = [
            ("Host", self._where.netloc),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(line))),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ]
        if method == "prompts/get":
            headers.append(("Mcp-Name", work.name(work.EDITED)))
        head = h11.Request(method="POST", target=self._where.path, headers=headers)
        self._socket.sendall(
            wire.send(head) + wire.send(h11.Data(data=line)) + wire.send(h11.EndOfMessage())
        )
        parts: list[bytes] = []
        while not isinstance(event := wire.next_event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                parts.append(event.data)
            elif event is h11.NEED_DATA:
                wire.receive_data(self._socket.recv(65536))
        wire.start_next_cycle()
        return b"".join(parts)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


class Remote:
    """A client of a server elsewhere. It waits for nothing but replies, so it cannot hear of changes."""

    def __init__(self, far: Pipe | Socket) -> None:
        self._client = Client(far)

    async def list(self) -> Sequence[Prompt]:
        self._client.list()
        return [*self._client.listed.values()]

    async def get(self, arguments: Mapping[str, str]) -> Sequence[Message]:
        return self._client.get(work.name(work.EDITED), arguments)

    async def fresh(self, description: str) -> Sequence[Prompt]:
        raise NotImplementedError


@asynccontextmanager
async def connect(target: Any, era: str, *, follow: bool) -> AsyncGenerator[Remote]:
    """A client of the child process of a command, or of a URL."""
    far = Socket(target) if isinstance(target, str) else Pipe(target)
    try:
        yield Remote(far)
    finally:
        far.close()


NOT_WRITTEN = "in memory it is the same work; only reading and writing would be added"
JOBS: Mapping[str, Callable[..., AbstractAsyncContextManager[Job]]] = {
    "list_cold": list_cold,
    "list_changed": list_changed,
    "list_unchanged": list_unchanged,
    "get": get,
    "cached_hit": cached_hit,
    "server_reply": server_reply,
    "fan_out": fan_out,
    "churn": churn,
    **{name: job for name, job in remote.jobs("floor", connect).items() if not name.startswith("churn")},
}
REFUSED: Mapping[str, str] = dict.fromkeys(("churn_stdio", "churn_http"), NOT_WRITTEN)
