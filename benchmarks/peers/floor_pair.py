"""The floor: the least Python that does the same typed work, written for each row by hand.

No state machine, no negotiation, no timeouts, no limits and no errors: bytes are decoded by msgspec into
structs, which become frozen attrs values of the same shape as the library's, and encoded by hand where they
can be. A page that is byte for byte the last one is not read again, and a prompt that is not new is not made
again. What is above the floor is what a protocol costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from benchmarks import work

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


LISTEN_META = {"subscription": "io.modelcontextprotocol/subscriptionId"}


class WireListenMeta(msgspec.Struct, gc=False, rename=LISTEN_META):
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


class Client:
    """A list that is kept, and what it was made from."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.call = 0
        self.listed: dict[str, Prompt] = {}
        self._raw: dict[str | None, tuple[bytes, list[Any], str | None]] = {}
        self._known: dict[bytes, Prompt] = {}

    def ask(self, method: bytes, params: bytes) -> bytes:
        """A request."""
        self.call += 1
        return b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":{%b"_meta":%b}}\n' % (
            self.call,
            method,
            params,
            META,
        )

    def hear(self, line: bytes) -> msgspec.Raw:
        """The result in a reply."""
        reply = reply_of(line)
        if reply.id != self.call:
            raise ValueError(reply.id)
        return reply.result

    def _ask(self, method: bytes, params: bytes) -> msgspec.Raw:
        return self.hear(self.server.serve(self.ask(method, params)).split(b"\n")[0])

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

    def hear_cold(self, line: bytes) -> None:
        """A list of which nothing is known has come, on one page."""
        self.listed = {wire.name: prompt_from(wire) for wire in page_of(self.hear(line)).prompts}

    def fetch(self) -> None:
        """A list that may be much like the last one."""
        cursor: str | None = None
        pages: list[list[Any]] = []
        moved = False
        while True:
            raw = self._ask(b"prompts/list", b'"cursor":%b,' % encode(cursor) if cursor else b"")
            page, cursor, is_new = self._page(cursor, bytes(raw))
            moved |= is_new
            pages.append(page)
            if cursor is None:
                break
        if moved:
            self.take(pages)

    def take(self, pages: list[list[Any]]) -> None:
        """All pages are there."""
        self._known = {part: prompt for page in pages for part, prompt in page}
        self.listed = {prompt.name: prompt for page in pages for _, prompt in page}

    def _page(self, cursor: str | None, raw: bytes) -> tuple[list[Any], str | None, bool]:
        last = self._raw.get(cursor)
        if last is not None and last[0] == raw:
            return last[1], last[2], False
        read = self._raw[cursor] = self._read(raw)
        return read[1], read[2], True

    def only_page(self, raw: bytes) -> None:
        """A list of one page has come."""
        page, _, moved = self._page(None, raw)
        if moved:
            self.take([page])

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
        return messages_from(self._ask(b"prompts/get", get_params(name, arguments)))


def get_params(name: str, arguments: Mapping[str, str]) -> bytes:
    """What is asked for."""
    return b'"name":%b,"arguments":%b,' % (encode(name), encode(arguments))


def messages_from(raw: msgspec.Raw) -> list[Message]:
    """What has been rendered, for the application."""
    return [Message(each.role, Text(each.content.text)) for each in rendered_of(raw).messages]
