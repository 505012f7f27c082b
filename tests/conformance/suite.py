"""The official conformance suite as a program: where it is, how it is installed, and how it is run.

It needs Node, and both may be in one folder of their own: `install` puts them there, and the environment
variable CONFORMANCE_SUITE names it ever after. Without that, the `node_modules` at the top of the repository
are looked at.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import attrs
from judging import Check, read_checks

HERE = Path(__file__).parent
WHERE = "CONFORMANCE_SUITE"
PACKAGES = ("node@22", "@modelcontextprotocol/conformance@0.2.0-alpha.12")
OLDEST_NODE = 22
PATIENCE = 300
"""How long one run of the suite may take, in seconds: only ever reached by a failure."""
SHOWN = 600
"""How many characters of a long complaint are shown: the last ones."""


class SuiteError(Exception):
    """The suite, or what it is run against, could not be started."""


@attrs.frozen
class Suite:
    """The suite's command, and its own word for its version."""

    command: tuple[str, ...]
    version: str

    def server(self, url: str, wire: str, scenario: str | None = None) -> Report:
        """Check the server at `url`: by one scenario, or by all that belong to this wire."""
        chosen = ("--suite", "all") if scenario is None else ("--scenario", scenario)
        report, _ = self._run("server-", "server", "--url", url, "--spec-version", wire, *chosen)
        return report

    def client(self, command: str, wire: str, scenario: str) -> Report:
        """Check a client, which is started by a shell; here the exit code can be relied on, being the
        client's own business too.
        """
        chosen = ("--command", command, "--spec-version", wire, "--scenario", scenario)
        report, done = self._run("", "client", *chosen)
        if done is not None and done.returncode:
            said = " ".join(done.stderr.split())[-SHOWN:]
            report = attrs.evolve(report, complaints=(f"exit code {done.returncode}: … {said}",))
        return report

    def _run(self, prefix: str, *arguments: str) -> tuple[Report, subprocess.CompletedProcess[str] | None]:
        with tempfile.TemporaryDirectory() as folder:
            command = (*self.command, *arguments, "-o", folder)
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
            except subprocess.TimeoutExpired:
                return Report({}, ("the suite did not come to an end",)), None
            checks = {
                _scenario(path.parent.name, prefix): read_checks(path)
                for path in Path(folder).glob("*/checks.json")
            }
        return Report(checks), done


@attrs.frozen
class Report:
    """The checks of each scenario that was run, and what else went wrong."""

    checks: dict[str, tuple[Check, ...]]
    complaints: tuple[str, ...] = ()


def _scenario(folder: str, prefix: str) -> str:
    """The scenario in the name of a folder, which ends in a time: "server-ping-2026-07-28T01-02-03-456Z"."""
    return folder.removeprefix(prefix)[: -len("-2026-07-28T01-02-03-456Z")]


# --- finding it -------------------------------------------------------------------------------------------


def find() -> Suite:
    """The suite; raises `SuiteError` with what is missing."""
    folder = Path(os.environ.get(WHERE) or HERE.parent.parent) / "node_modules"
    program = folder / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    node = shutil.which("node", path=os.pathsep.join((str(folder / ".bin"), os.environ.get("PATH", ""))))
    if node is None:
        raise SuiteError("there is no Node")
    if not program.exists():
        raise SuiteError(f"the conformance suite is not in {folder}; {WHERE} may name another folder")
    version = _said(node, "--version")
    if int(version.lstrip("v").partition(".")[0]) < OLDEST_NODE:
        raise SuiteError(f"Node is {version}, and must be {OLDEST_NODE} or newer")
    command = (node, str(program))
    return Suite(command, _said(*command, "--version"))


def install(folder: Path) -> None:
    """Install the suite and its Node into a folder; raises `SuiteError` if that fails."""
    npm = shutil.which("npm")
    if npm is None:
        raise SuiteError("npm, which comes with Node, is needed to install the suite")
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([npm, "install", "--prefix", str(folder), *PACKAGES], check=False)
    if done.returncode:
        raise SuiteError(f"npm failed with exit code {done.returncode}")
    os.environ[WHERE] = str(folder.absolute())


def _said(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise SuiteError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return done.stdout.strip()


# --- what it is run against -------------------------------------------------------------------------------


@contextmanager
def serving(adapter: str, reply: str, wire: str) -> Generator[str]:
    """The server fixture, for the block: its URL.

    Raises `SuiteError` if it does not start, and in the end if it has written anything to stderr.
    """
    options = ("--adapter", adapter, "--reply", reply, "--wire", wire)
    command = (sys.executable, "-W", "error", str(HERE / "server.py"), *options)
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        try:
            assert process.stdout is not None
            url = process.stdout.readline().decode().strip()
            if url:
                yield url
        finally:
            process.terminate()
            process.wait()
            errors.seek(0)
            complaints = errors.read().decode().strip()
    if complaints or not url:
        raise SuiteError(f"the server said: {complaints or 'nothing, not even its URL'}")


def client_command(adapter: str) -> str:
    """The client fixture, as a line for a shell; the suite appends a URL."""
    return shlex.join((sys.executable, "-W", "error", str(HERE / "client.py"), "--adapter", adapter))
