"""A conversation: what passed between a client and a server over one connection, laid out for rules to read.

It is made of what the tap heard and of nothing else, so that a recording will do. Requests are put together
with whatever answered them: by their id, and over HTTP by their exchange, too. Nothing is corrected here, and
nothing is refused: what is no JSON has the value `NOT_JSON`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import attrs

from mcp_sansio import Era, HeadPassed, MessagePassed
from mcp_sansio._meta import SUBSCRIPTION_ID, VERSION
from mcp_sansio._plain import is_array, is_id, is_object, member
from mcp_sansio._versions import era_of

Entry: TypeAlias = MessagePassed | HeadPassed
Carrier: TypeAlias = Literal["stdio", "http"]
MAX_HEARD = 64 * 1024 * 1024
"""How many bytes of a conversation are kept."""
OVERHEAD = 500
"""What an entry costs besides its text, in bytes."""
NOT_JSON: Final = object()
LISTEN = "subscriptions/listen"
UNKNOWN = "1900-01-01"
"""A revision that does not exist."""
ELSEWHERE = "http://attacker.example"
"""The origin of a page that no server of this machine should serve."""


@attrs.frozen(eq=False)
class Said:
    """One message, as it was and as JSON. `at` is its place in the conversation."""

    at: int
    data: bytes
    value: Any
    exchange: int
    batch: bool = False

    def member(self, name: str) -> Any:
        """A member of the message; None if it has none."""
        return member(self.value, name)

    @property
    def has_method(self) -> bool:
        """Whether it is a request or a notification."""
        return is_object(self.value) and "method" in self.value

    @property
    def is_reply(self) -> bool:
        """Whether it is meant as a response."""
        return (
            is_object(self.value) and not self.has_method and not {"result", "error"}.isdisjoint(self.value)
        )


@attrs.frozen(eq=False)
class Asked:
    """One request of the client's, and what answered it, in order."""

    said: Said
    method: str
    params: dict[str, Any]
    replies: tuple[Said, ...]

    @property
    def result(self) -> dict[str, Any] | None:
        """The result, if that is how it ended."""
        result = self.replies[0].member("result") if self.replies else None
        return result if is_object(result) else None

    @property
    def code(self) -> Any:
        """The code of the error, if that is how it ended."""
        return member(self.replies[0].member("error"), "code") if self.replies else None

    @property
    def evidence(self) -> bytes:
        """The first answer, as it was."""
        return self.replies[0].data if self.replies else b"(no answer to) " + self.said.data

    @property
    def version(self) -> Any:
        """The revision that the request itself names, as modern ones do."""
        return member(self.params.get("_meta"), VERSION)


@attrs.frozen(eq=False)
class Exchange:
    """One HTTP exchange: the request, the head of the reply, and its messages. Names are lower case."""

    number: int
    method: str
    sent: dict[str, str]
    asked: Said | None
    status: int
    headers: dict[str, str]
    replies: tuple[Said, ...]

    @property
    def media(self) -> str:
        """The content type of the reply, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def local(self) -> bool:
        """Whether the server was addressed as one of this machine."""
        host = urlsplit(f"//{self.sent.get('host', '')}").hostname
        return host in ("localhost", "127.0.0.1", "::1")

    @property
    def evidence(self) -> str:
        """What it was, in a line."""
        body = self.replies[0].data.decode(errors="replace") if self.replies else ""
        kind = f" {self.headers['content-type']}" if "content-type" in self.headers else ""
        return f"HTTP {self.status}{kind} {body}".rstrip()


class Heard:
    """What passes is put down here, up to a limit: `cut` says that there was more. `settled` are the ids of
    requests that were answered, or whose subscription has begun.
    """

    def __init__(self, limit: int = MAX_HEARD) -> None:
        self.entries: list[Entry] = []
        self.settled: set[Any] = set()
        self.cut = False
        self._room = limit

    def __call__(self, entry: Entry) -> None:
        """Put one entry down."""
        size = OVERHEAD
        if isinstance(entry, MessagePassed):
            size += len(entry.data)
            self._settle(entry)
        self._room -= size
        self.cut = self.cut or self._room < 0
        if not self.cut:
            self.entries.append(entry)

    def _settle(self, entry: MessagePassed) -> None:
        for value in () if entry.sent else values(entry.data):
            number = tag_of(value) if member(value, "method") else member(value, "id")
            if is_id(number):
                self.settled.add(number)


class Conversation:
    """What passed over one connection. `version` is what was agreed on, None if that is not known.

    `patient`: whoever spoke waited for what is due, so that silence means something for subscriptions, too;
    `cut`: not all of it is here, so that silence means nothing.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        carrier: Carrier,
        version: str | None,
        *,
        patient: bool = False,
        cut: bool = False,
    ) -> None:
        self.entries = tuple(entries)
        self.cut = cut
        self.carrier: Carrier = carrier
        self.patient = patient
        self.version = version
        self.era: Era | None = None if version is None else era_of(version)

    @cached_property
    def _messages(self) -> tuple[tuple[bool, Said], ...]:
        return tuple(
            (entry.sent, Said(at, entry.data, value, entry.exchange, entry.data.lstrip().startswith(b"[")))
            for at, entry in enumerate(self.entries)
            if isinstance(entry, MessagePassed)
            for value in values(entry.data)
        )

    @cached_property
    def sent(self) -> tuple[Said, ...]:
        """The client's messages."""
        return tuple(said for sent, said in self._messages if sent)

    @cached_property
    def received(self) -> tuple[Said, ...]:
        """The server's messages, and what stood in their place."""
        return tuple(said for sent, said in self._messages if not sent)

    @cached_property
    def requests(self) -> tuple[Asked, ...]:
        """The client's requests with their answers."""
        replies: dict[tuple[str, Any], list[Said]] = {}
        for said in self.received:
            if said.is_reply and is_id(said.member("id")):
                replies.setdefault(key_of(said), []).append(said)
            elif said.is_reply and said.exchange:
                replies.setdefault(("exchange", said.exchange), []).append(said)
        return tuple(
            Asked(
                said,
                str(said.member("method")),
                params if is_object(params := said.member("params")) else {},
                tuple(
                    each
                    for key in (key_of(said), ("exchange", said.exchange))
                    for each in replies.get(key, ())
                    if each.at > said.at
                ),
            )
            for said in self.sent
            if said.has_method and is_id(said.member("id"))
        )

    def asked(self, *methods: str) -> Iterator[Asked]:
        """The requests of some methods."""
        return (asked for asked in self.requests if asked.method in methods)

    def told(self, method: str) -> Iterator[Said]:
        """The notifications of one method that came."""
        return (said for said in self.received if said.member("method") == method and "id" not in said.value)

    @cached_property
    def capabilities(self) -> dict[str, Any] | None:
        """What the server declared, the first time; None if it was not asked."""
        for asked in self.asked("initialize", "server/discover"):
            declared = member(asked.result, "capabilities")
            if is_object(declared):
                return declared
        return None

    @cached_property
    def pages(self) -> tuple[Asked, ...]:
        """The pages of prompts that came."""
        return tuple(
            asked for asked in self.asked("prompts/list") if is_array(member(asked.result, "prompts"))
        )

    @cached_property
    def prompts(self) -> dict[str, dict[str, Any]]:
        """The prompts that were listed, by name; those without one are somebody else's business."""
        listed = (prompt for page in self.pages for prompt in (page.result or {})["prompts"])
        return {name: prompt for prompt in listed if isinstance(name := member(prompt, "name"), str)}

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The HTTP exchanges that were answered."""
        heads: dict[int, dict[bool, HeadPassed]] = {}
        for entry in self.entries:
            if isinstance(entry, HeadPassed):
                heads.setdefault(entry.exchange, {})[entry.sent] = entry
        return tuple(
            self._exchange(number, both[True], both[False])
            for number, both in heads.items()
            if len(both) == len((True, False))
        )

    def _exchange(self, number: int, request: HeadPassed, reply: HeadPassed) -> Exchange:
        asked = [said for said in self.sent if said.exchange == number]
        replies = tuple(said for said in self.received if said.exchange == number)
        heads = (str(request.start), _lower(request)), (int(reply.start), _lower(reply))
        return Exchange(number, *heads[0], asked[0] if asked else None, *heads[1], replies)


def tag_of(value: Any) -> Any:
    """Of which subscription a notification is; None if it does not say."""
    return member(member(member(value, "params"), "_meta"), SUBSCRIPTION_ID)


def key_of(said: Said) -> tuple[str, Any]:
    """An id by exact type: `1` is not `"1"`."""
    return type(said.member("id")).__name__, said.member("id")


def _lower(head: HeadPassed) -> dict[str, str]:
    return {name.lower(): value.strip() for name, value in head.headers}


def values(data: bytes) -> list[Any]:
    """The messages in a line or body: one, or those of a batch, or `NOT_JSON`."""
    try:
        value = json.loads(data.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return [NOT_JSON]
    return value if is_array(value) and value else [value]


def _refuse(constant: str) -> Any:
    raise ValueError(constant)
