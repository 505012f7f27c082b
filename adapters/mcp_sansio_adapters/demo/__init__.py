"""`mcp-sansio demo`: a client and a server live through what servers and clients live through.

A copy of the sample folder is served by a child process, over stdio and over HTTP, in each era of the
protocol, while its files are edited under both of them. Every step says what happened and what it cost on
the wire, and compares what the client holds with the files on disk: nobody's word is taken for it. The first
step that does not come out right ends the demonstration, which names it.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

from mcp_sansio import LEGACY_VERSIONS, MODERN_VERSIONS, McpError

from .report import Report
from .scene import Scene
from .server import HOSTS, NAMES
from .steps import Play, StepFailed

FOLDER = "{folder}"
"""Stands for the folder in the command of a server."""

OURS = (sys.executable, "-m", "mcp_sansio_adapters", "serve", FOLDER, "--page-size", "8")

ERAS = {
    "legacy": (LEGACY_VERSIONS[-1], "a handshake, then a session in which the server says what changed"),
    "modern": (MODERN_VERSIONS[-1], "no handshake, no session; the client listens for changes on a stream"),
}


class DemoFailed(McpError):
    """A step did not come out right."""


def run_demo(
    command: Sequence[str] | None = None,
    *,
    eras: Iterable[str] = ERAS,
    transports: Iterable[str] | None = None,
    patience: float = 10.0,
) -> None:
    """Play the demonstration; raises `DemoFailed`.

    `command` is another server to play it with; `{folder}` in it stands for the folder that it is to serve.
    `transports` are "stdio" and "http"; both, unless the server is another one: then stdio.
    No step waits longer than `patience` seconds for a change to be announced.
    """
    report = Report()
    report.title("Prompts over the Model Context Protocol: a server that has them, a client that wants them.")
    report.title(
        "What the client holds is compared with the files on disk; costs are all that went over the wire."
    )
    transports = transports or (("stdio",) if command else tuple(HOSTS))
    for transport, (version, character) in product(transports, map(ERAS.__getitem__, eras)):
        report.heading(f"{version} over {NAMES[transport]}: {character}")
        with tempfile.TemporaryDirectory(prefix="mcp-sansio-demo-") as folder:
            scene = Scene(Path(folder, "prompts"))
            line = [str(scene.root) if word == FOLDER else word for word in command or OURS]
            play = Play(scene, line, report, transport=transport, version=version, patience=patience)
            _play(play, report)
    report.finished()


def _play(play: Play, report: Report) -> None:
    """Play all steps in one revision."""
    try:
        asyncio.run(play.run())
    except StepFailed as error:
        report.failed(str(error))
        raise DemoFailed(
            f"the demonstration failed at step {play.step!r} in {play.version} over {play.transport}: {error}"
        ) from error
