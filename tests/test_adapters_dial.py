"""Connecting on asyncio: the fastest address, and not a socket left of the others or of a cancellation."""

import asyncio
import gc
import socket
import warnings
from collections.abc import Generator
from contextlib import ExitStack
from typing import Any

import pytest

import mcp_sansio_adapters.asyncio as on_asyncio
from mcp_sansio_adapters import _dial
from mcp_sansio_adapters._loop import Address

TCP = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")


@pytest.fixture
def port() -> Generator[int]:
    """Where somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_a_connection_may_be_given_up_at_any_moment(port: int) -> None:
    """The race that comes with asyncio loses the winner's socket, if it is cancelled at that moment."""

    async def main(steps: int) -> bool:
        connecting = asyncio.create_task(on_asyncio.LOOP.connect(Address("127.0.0.1", port, None)))
        for _ in range(steps):
            await asyncio.sleep(0)
        given_up = connecting.cancel()
        try:
            await (await connecting).close()
        except asyncio.CancelledError:
            assert given_up
        return given_up

    steps = 0
    with warnings.catch_warnings(record=True) as unclosed:
        warnings.simplefilter("always", ResourceWarning)
        while asyncio.run(main(steps)):
            steps += 1
        gc.collect()
    assert steps > 3
    assert [str(each.message) for each in unclosed] == []


# --- several addresses ---


def resolve(monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
    """Let every name have these addresses."""
    infos = [(*TCP, ("127.0.0.1", port)) for port in ports]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_named: infos)


def reached() -> int:
    """The port that we get to."""

    async def main() -> int:
        with await _dial.dial("somewhere", 80) as sock:
            port: int = sock.getpeername()[1]
            return port

    return asyncio.run(main())


@pytest.fixture
def deaf() -> Generator[int]:
    """A port at which nobody answers: its queue is full."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        address = listening.getsockname()
        try:
            while True:
                stack.enter_context(socket.create_connection(address, timeout=0.1))
        except TimeoutError:
            yield address[1]


@pytest.fixture
def closed() -> int:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def test_an_address_that_refuses_is_followed_by_the_next(
    monkeypatch: pytest.MonkeyPatch, port: int, closed: int
) -> None:
    resolve(monkeypatch, closed, closed, port)
    assert reached() == port


def test_an_address_that_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, port: int, deaf: int
) -> None:
    monkeypatch.setattr(_dial, "HEAD_START", 0.01)
    resolve(monkeypatch, deaf, port)
    assert reached() == port


def test_of_two_that_answer_one_is_closed(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    monkeypatch.setattr(_dial, "HEAD_START", 0)
    resolve(monkeypatch, port, port)
    assert reached() == port


def test_that_no_address_answers_is_an_error(monkeypatch: pytest.MonkeyPatch, closed: int) -> None:
    resolve(monkeypatch, closed, closed)
    with pytest.raises(ConnectionRefusedError):
        reached()


def test_both_families_get_their_turn() -> None:
    def infos(*names: str) -> list[Any]:
        families = {"4": socket.AF_INET, "6": socket.AF_INET6}
        return [(families[name[0]], *TCP[1:], name) for name in names]

    assert _dial.in_turn(infos("6a", "6b", "6c", "4a")) == infos("6a", "4a", "6b", "6c")
    assert _dial.in_turn(infos("4a")) == infos("4a")
