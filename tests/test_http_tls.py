"""HTTPS over real sockets: whom a client trusts, and what a server does with peers that speak no TLS."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import trustme
from fronts import ASYNC_FRONTS, AsyncFront
from pair import KEYS, SERVER, prompt
from stage import VERSIONS

from mcp_sansio import (
    Catalogue,
    ClientConfig,
    Implementation,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import ConnectionFailed

pytestmark = pytest.mark.parametrize("front", ASYNC_FRONTS, ids=lambda front: front.name)

AUTHORITY = trustme.CA()
STRANGER = trustme.CA()
SMALL, LARGE = "text", "x" * 3_000_000
IMPATIENT = ClientConfig(info=Implementation("c", "1"), backoff=0.001, backoff_max=0.002)


def server_side(*names: str, authority: trustme.CA = AUTHORITY) -> ssl.SSLContext:
    """TLS for a server that has a certificate for these names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def client_side(*authorities: trustme.CA) -> ssl.SSLContext:
    """TLS for a client that trusts these."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for authority in authorities:
        authority.configure_trust(context)
    return context


HERE = server_side("127.0.0.1")
TRUSTING = client_side(AUTHORITY)


def served() -> tuple[Server, Catalogue]:
    """A server of a small prompt and a large one."""
    catalogue = Catalogue()
    catalogue.add(prompt("small"), lambda: SMALL)
    catalogue.add(prompt("large"), lambda: LARGE)
    layer = PromptServer(catalogue, PromptServerConfig(keys=KEYS))
    return Server(ServerConfig(info=SERVER, quiet=0.005, max_wait=0.05), layer), catalogue


async def refused(front: Any, url: str, tls: ssl.SSLContext | None) -> str:
    """Why no client comes to anything there."""
    with pytest.raises(ConnectionFailed) as failed:
        async with front.module.open_http_client(url, tls=tls, config=IMPATIENT):
            raise AssertionError("entered")
    return failed.value.reason


async def works(front: Any, url: str) -> None:
    """Be a client to which all is well."""
    async with front.module.open_http_client(url, tls=TRUSTING, config=IMPATIENT) as client:
        assert (await client.get_prompt("small")).messages[0].content.text == SMALL


@pytest.mark.parametrize("era", VERSIONS)
def test_everything_is_as_without_tls(front: AsyncFront, era: str) -> None:
    async def scenario(front: Any) -> None:
        server, catalogue = served()
        config = ClientConfig(info=Implementation("c", "1"), versions=(VERSIONS[era],))
        async with front.module.open_http_server(server, tls=HERE) as running:
            assert running.url.startswith("https://127.0.0.1:")
            async with front.module.open_http_client(running.url, tls=TRUSTING, config=config) as client:
                changes = client.changes()
                assert {*(await client.list_prompts()).by_name} == {"small", "large"}
                assert (await client.get_prompt("large")).messages[0].content.text == LARGE
                catalogue.add(prompt("late"), lambda: "text")
                while client.snapshot is None or "late" not in client.snapshot.by_name:
                    await anext(changes)

    front.run(scenario)


@pytest.mark.parametrize(
    ("theirs", "ours", "why"),
    [
        (server_side("127.0.0.1", authority=STRANGER), TRUSTING, "unable to get local issuer certificate"),
        (server_side("other.example"), TRUSTING, "IP address mismatch"),
        (HERE, None, "CERTIFICATE_VERIFY_FAILED"),
    ],
    ids=["untrusted", "another name", "the system's trust"],
)
def test_a_certificate_has_to_be_trusted_and_to_have_the_name(
    front: AsyncFront, theirs: ssl.SSLContext, ours: ssl.SSLContext | None, why: str
) -> None:
    async def scenario(front: Any) -> None:
        async with front.module.open_http_server(served()[0], tls=theirs) as running:
            assert why in await refused(front, running.url, ours)

    front.run(scenario)


def test_https_at_a_port_of_http_and_the_reverse(front: AsyncFront) -> None:
    async def scenario(front: Any) -> None:
        async with front.module.open_http_server(served()[0]) as plain:
            url = plain.url.replace("http:", "https:")
            assert "cannot connect to https://" in await refused(front, url, TRUSTING)
        async with front.module.open_http_server(served()[0], tls=HERE) as secure:
            assert "no answer" in await refused(front, secure.url.replace("https:", "http:"), None)
            await works(front, secure.url)

    front.run(scenario)


GARBAGE = [b"", b"\0" * 1000, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 5]


@pytest.mark.parametrize("said", GARBAGE, ids=["nothing", "zeros", "http", "half a hello"])
@pytest.mark.parametrize("leaves", [False, True], ids=["stays", "leaves"])
def test_who_speaks_no_tls_is_in_nobody_s_way(front: AsyncFront, said: bytes, leaves: bool) -> None:
    async def scenario(front: Any) -> None:
        async with front.module.open_http_server(served()[0], tls=HERE) as running:
            strangers = [socket.create_connection(running.addresses[0]) for _ in range(5)]
            for stranger in strangers:
                stranger.sendall(said)
                if leaves:
                    stranger.close()
            await works(front, running.url)
            for stranger in strangers:
                stranger.close()

    front.run(scenario)


def test_a_server_waits_for_a_handshake_for_a_while_only(
    front: AsyncFront, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front.module, "TLS_PATIENCE", 0.05)

    async def scenario(front: Any) -> None:
        async with front.module.open_http_server(served()[0], tls=HERE) as running:
            with socket.create_connection(running.addresses[0]) as stranger:
                stranger.setblocking(False)
                while not over(stranger):
                    await works(front, running.url)

    front.run(scenario)


def over(sock: socket.socket) -> bool:
    """Whether the other end has let go."""
    try:
        return sock.recv(1000) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@contextmanager
def silent() -> Iterator[str]:
    """The URL of a port where everybody is accepted and nothing said."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"https://127.0.0.1:{listening.getsockname()[1]}/mcp"


def test_so_does_a_client(front: AsyncFront, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front.module, "TLS_PATIENCE", 0.05)

    async def scenario(front: Any) -> None:
        with silent() as url:
            assert "handshake" in await refused(front, url, TRUSTING)

    front.run(scenario)


def test_a_connection_that_breaks_without_a_farewell_is_one_that_broke(front: AsyncFront) -> None:
    """A server that is a thread: it shakes hands, reads, and hangs up in the middle of TLS."""

    def hang_up(listening: socket.socket) -> None:
        while True:
            try:
                sock, _ = listening.accept()
            except OSError:
                return
            with HERE.wrap_socket(sock, server_side=True) as secured:
                secured.recv(1000)

    async def scenario(front: Any) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            thread = threading.Thread(target=hang_up, args=(listening,))
            thread.start()
            port = listening.getsockname()[1]
            assert await refused(front, f"https://127.0.0.1:{port}/mcp", TRUSTING)
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()

    front.run(scenario)
