"""What every way of opening a client or a server can be told, for all front ends.

The keyword arguments are declared here, once, and turned into what the front ends share.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from mcp_sansio import ClientConfig, HttpServerConfig, ListingConfig, OnMessage, RequestHeaders, Server

from ._hooks import Authenticate, Hooks, OnEvent, OnInput, OnRequest, OnStderr, guarded
from ._process import ProcessPolicy, ProcessSpec
from ._recording import UNRECORDED, Recorder, Recording
from ._session import Session

if TYPE_CHECKING:
    from mcp_sansio.h11 import H11Config, H11PoolConfig  # h11 is there only where HTTP is spoken

GRACE = 2.0
THREADS = 40


class ClientOptions(TypedDict, total=False):
    """How to be a client.

    `config` and `listing` are the core's own. Without a config, elicitation forms are offered if there is
    an `on_input` to fill them in; it is given an `InputNeeded` and returns a result for every key of its
    `requests`. `on_request` answers what a legacy server asks (`ClientConfig.answers` must name the
    methods): with a result, or an `RpcError`. Both may be asynchronous where the front end is. `on_event`
    hears of every event of the core, diagnostics included, and `on_message` of all that passes over the wire
    as it is, what the core makes nothing of included; neither may block. A `recorder` (`recording`) writes
    down all that happens.
    """

    config: ClientConfig | None
    listing: ListingConfig | None
    on_input: OnInput | None
    on_request: OnRequest | None
    on_event: OnEvent | None
    on_message: OnMessage | None
    recorder: Recorder | None


class ProcessOptions(ClientOptions, total=False):
    """How to be the client of a child process.

    `env` is its whole environment and `cwd` its working directory; both are ours unless given. What it
    writes to stderr goes to `on_stderr`; the last of it is kept for error messages in any case. `policy`
    says how often it is started again, and how patiently it is ended.
    """

    env: Mapping[str, str] | None
    cwd: str | os.PathLike[str] | None
    on_stderr: OnStderr | None
    policy: ProcessPolicy | None


class ServerOptions(TypedDict, total=False):
    """How to drive a server.

    `on_request` answers requests of the methods that `ServerConfig.methods` names: with a result, or an
    `RpcError`; where there is a loop, it is called there. `on_event` hears of every event. Neither may block.
    `grace` is how many seconds replies get that are owed to a peer who has finished, or when the server is
    stopped: 2 by default. `threads` is in how many threads the functions of prompts run at once, 40 by
    default; a function that goes on after its request was given up counts until it returns, and further
    requests wait. A `recorder` (`recording`) writes down all that happens.
    """

    on_request: OnRequest | None
    on_event: OnEvent | None
    recorder: Recorder | None
    grace: float
    threads: int


class StdioOptions(ServerOptions, total=False):
    """How to serve stdio: `principal` is on whose behalf the process that started us asks, if anybody's."""

    principal: str | None


class HttpOptions(ClientOptions, total=False):
    """How to be a client over HTTP.

    `headers` go with every request (`Authorization` for one), `request_headers` gives more for one message.
    `tls` is used for https; by default the system's certificates are trusted. `pool` limits connections.
    """

    headers: Mapping[str, str]
    request_headers: RequestHeaders | None
    tls: ssl.SSLContext | None
    pool: H11PoolConfig | None


class HttpServerOptions(ServerOptions, total=False):
    """How to serve HTTP.

    `config` says what is served to whom (`hosts` and `origins` beyond loopback names, for example), `h11`
    how patient connections are. With `tls`, it is https. `authenticate` gets the `RequestHead` of every
    request and returns its principal, None for nobody in particular, or `Unauthorized`; it may be
    asynchronous.
    """

    config: HttpServerConfig | None
    h11: H11Config | None
    tls: ssl.SSLContext | None
    authenticate: Authenticate | None


def session_of(options: ClientOptions) -> Session:
    """The client that these options make."""
    heard = options.get("on_event"), guarded(options.get("on_message"))
    hooks = Hooks(options.get("on_input"), options.get("on_request"), *heard)
    recorder = options.get("recorder")
    recording = UNRECORDED if recorder is None else recorder.of_client()
    return Session(options.get("config"), options.get("listing"), hooks, recording)


def recording_of(options: ServerOptions, server: Server) -> Recording:
    """What is noted of a server that is driven with these options."""
    recorder = options.get("recorder")
    return UNRECORDED if recorder is None else recorder.of_server(server)


def process_of(command: Sequence[str], options: ProcessOptions) -> ProcessSpec:
    """The process that these options start."""
    return ProcessSpec(
        command=command,
        env=options.get("env"),
        cwd=options.get("cwd"),
        policy=options.get("policy") or ProcessPolicy(),
        on_stderr=options.get("on_stderr"),
    )
