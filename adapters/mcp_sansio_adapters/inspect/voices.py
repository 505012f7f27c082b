"""Speaking to a server by hand: whatever is to be said, right or wrong, and all that comes back, as it was.

A client would not say what is wrong, so there is none here: only processes, sockets, and the framing of our
own wires. What is said and heard is noted as a tap would. Nobody waits longer than the given patience.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import json
import os
import signal
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import h11

from mcp_sansio import HeadPassed, HttpUrl, MessagePassed
from mcp_sansio._http_reply import Answer, ClientExchange, Errand, Incoming
from mcp_sansio._lines import LineBuffer, Overlong
from mcp_sansio._sse import SseDecoder
from mcp_sansio_adapters.hosts import HostServer

from .conversation import Heard, values

MAX_MESSAGE = 32 * 1024 * 1024
GRACE = 2.0
MAX_HOPS = 3


class Voice(abc.ABC):
    """One connection: `heard` has all that passed. `patience` is seconds for one answer."""

    def __init__(self, patience: float) -> None:
        self.heard = Heard()
        self._patience = patience

    @abc.abstractmethod
    async def say(self, message: Any, fields: Mapping[str, str] | None = None) -> None:
        """Say a message, or a batch, and wait for what answers it; `fields` are headers of its own."""


class LineVoice(Voice):
    """Over the stdin and stdout of a process."""

    def __init__(self, process: asyncio.subprocess.Process, patience: float) -> None:
        super().__init__(patience)
        self._process = process
        self._lines = LineBuffer(MAX_MESSAGE)
        self._ended = False
        self._news = asyncio.Event()

    async def say(self, message: Any, fields: Mapping[str, str] | None = None) -> None:
        """Write a line; it has no headers."""
        data = _encoded(message)
        self.heard(MessagePassed(True, data))
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(self._patience):
                if self._process.stdin is not None:
                    self._process.stdin.write(data + b"\n")
                    await self._process.stdin.drain()
                while not (self._ended or _wanted(data) <= self.heard.settled):
                    self._news.clear()
                    await self._news.wait()

    async def listen(self) -> None:
        """Take in what is written, to the end."""
        while self._process.stdout is not None and (data := await self._process.stdout.read(65536)):
            for line in self._lines.feed(data):
                self.heard(MessagePassed(False, line.head if isinstance(line, Overlong) else line))
            self._news.set()
        self._ended = True
        self._news.set()


@asynccontextmanager
async def started(server: HostServer, patience: float) -> AsyncGenerator[LineVoice]:
    """A process of its own to speak to, which is ended in the end."""
    process = await asyncio.create_subprocess_exec(
        *server.command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=server.env,
        cwd=server.cwd,
        start_new_session=True,
    )
    voice = LineVoice(process, patience)
    listening = asyncio.create_task(voice.listen())
    try:
        yield voice
    finally:
        await _ended(process)
        await listening


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Its input is closed; what does not exit then is killed, and with it what it started."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(GRACE):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


class _Ear(Errand):
    """Waits for the answer of one exchange, and wants nothing of it."""

    def __init__(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> None:
        self.method = method
        self.target = target
        self.headers = tuple(headers.items())
        self.body = body
        self.over = False
        self.session: str | None = None
        self.location: str | None = None

    def heard(self, status: int, session: str | None, now: float, *, streams: bool) -> None:
        self.session = session
        self.over = streams and self.method == "GET"

    def message(self, message: Incoming, now: float) -> None:
        pass

    def answered(self, answer: Answer, now: float) -> None:
        self.over = True

    def redirected(self, status: int, location: str | None, now: float) -> None:
        self.over = True
        self.location = location

    def ended(self, reason: str, events: SseDecoder | None, now: float) -> None:
        self.over = True


class HttpVoice(Voice):
    """Over HTTP, each exchange on a connection of its own. `session` is sent along once there is one."""

    def __init__(self, url: str, fields: Mapping[str, str], patience: float) -> None:
        super().__init__(patience)
        self._url = HttpUrl.parse(url)
        self._fields = fields
        self._exchanges = 0
        self.session: str | None = None

    async def say(self, message: Any, fields: Mapping[str, str] | None = None) -> None:
        """Post a message."""
        await self.exchange("POST", fields or {}, _encoded(message))

    async def exchange(self, method: str, fields: Mapping[str, str], body: bytes = b"") -> None:
        """Make a request, following where the server says that it is."""
        for _ in range(MAX_HOPS):
            ear = await self._exchange(method, fields, body)
            self.session = ear.session or self.session
            if ear.location is None:
                break
            self._url = self._url.join(ear.location)

    async def _exchange(self, method: str, fields: Mapping[str, str], body: bytes) -> _Ear:
        session = {} if self.session is None else {"Mcp-Session-Id": self.session}
        own = {"Host": self._url.authority, "Connection": "close", "Accept-Encoding": "identity"}
        sent = {"Accept": "application/json, text/event-stream", **session, **fields, **own}
        if body:
            sent |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        ear = _Ear(method, self._url.target, {**self._fields, **sent}, body)
        self._exchanges += 1
        self.heard(HeadPassed(True, method, tuple(sent.items()), self._exchanges))
        if body:
            self.heard(MessagePassed(True, body, self._exchanges))
        with contextlib.suppress(TimeoutError, OSError, h11.RemoteProtocolError):
            async with asyncio.timeout(self._patience):
                await self._spoken(ear, ClientExchange(ear, MAX_MESSAGE, self.heard, self._exchanges))
        return ear

    async def _spoken(self, ear: _Ear, exchange: ClientExchange) -> None:
        tls = ssl.create_default_context() if self._url.scheme == "https" else None
        reader, writer = await asyncio.open_connection(self._url.host, self._url.port, ssl=tls)
        connection = h11.Connection(h11.CLIENT)
        try:
            for event in _request(ear):
                writer.write(connection.send(event) or b"")
            await writer.drain()
            wanted = _wanted(ear.body)
            while not (ear.over or (wanted and wanted <= self.heard.settled)):
                received = await reader.read(65536)
                connection.receive_data(received)
                _feed(connection, exchange)
                if not received:
                    break
        finally:
            writer.close()


def _request(ear: _Ear) -> list[h11.Event]:
    headers = [(name.encode("ascii"), value.encode("latin-1")) for name, value in ear.headers]
    head = h11.Request(method=ear.method, target=ear.target, headers=headers)
    return [head, *([h11.Data(data=ear.body)] if ear.body else []), h11.EndOfMessage()]


def _feed(connection: h11.Connection, exchange: ClientExchange) -> None:
    """What has come; the clock does not matter to an exchange that nobody limits in time."""
    while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
        if isinstance(event, h11.Response):
            fields = [(name.decode("ascii"), value.decode("latin-1")) for name, value in event.headers]
            exchange.receive_head(event.status_code, fields, 0.0)
        elif isinstance(event, h11.Data):
            exchange.receive_data(bytes(event.data), 0.0)
        elif isinstance(event, h11.EndOfMessage):
            exchange.receive_eof(0.0)
        elif isinstance(event, h11.ConnectionClosed):
            break


def _encoded(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def _wanted(data: bytes) -> set[Any]:
    """The ids of the requests that are being made."""
    return {each["id"] for each in values(data) if isinstance(each, dict) and {"id", "method"} <= each.keys()}
