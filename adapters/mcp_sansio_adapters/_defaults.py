"""What the core must not find out by itself: the time, randomness, secrets.

The core takes all of them as arguments or through its configs. This is what the adapters pass.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import attrs

from mcp_sansio import ClientConfig, HttpServerConfig, Implementation, Keys, __version__

_show: Callable[[], float] = time.monotonic


def now() -> float:
    """The clock of every adapter, in seconds."""
    return _show()


@contextmanager
def shown_by(clock: Callable[[], float]) -> Generator[None]:
    """For the block the time is what another clock shows."""
    global _show  # noqa: PLW0603  # there is one time
    before, _show = _show, clock
    try:
        yield
    finally:
        _show = before


def unix_offset() -> float:
    """What turns the adapters' clock into Unix time, for `PromptServerConfig.unix_offset`."""
    return time.time() - now()


def new_keys() -> Keys:
    """A fresh random key, for `PromptServerConfig.keys`.

    Cursors and request states that it seals mean nothing to another process or a later run; keep keys of
    your own where they should.
    """
    return Keys((secrets.token_hex(4), secrets.token_bytes(32)))


def new_session_id() -> str:
    """An id for a legacy session over HTTP: "globally unique and cryptographically secure"."""
    return secrets.token_urlsafe(24)


def http_config(config: HttpServerConfig | None) -> HttpServerConfig:
    """The caller's config, with ids for sessions where it makes none."""
    config = config or HttpServerConfig()
    if config.new_session_id is None:
        config = attrs.evolve(config, new_session_id=new_session_id)
    return config


def client_config(config: ClientConfig | None, *, asks: bool) -> ClientConfig:
    """The caller's config, with jitter where it has none; or one that offers forms if somebody `asks`."""
    if config is None:
        info = Implementation("mcp-sansio", __version__)
        config = ClientConfig(info=info, capabilities={"elicitation": {}} if asks else {})
    if config.jitter is attrs.fields(ClientConfig).jitter.default:
        config = attrs.evolve(config, jitter=random.random)
    return config
