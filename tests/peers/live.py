"""How tests start the peers: the command lines of the servers, and a run of the client.

Everything here is blocking and stands on the standard library, for the peers are processes of their own. A
test of a client takes `sdk_server(...)` as the command to connect to; a test of a server hands the command of
that server to `sdk_client(...)` and looks at the report. Over HTTP a server is started by `served(...)`, and
its URL stands for it.
"""

import json
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

HERE = Path(__file__).parent
Command = tuple[str, ...]


class Report(TypedDict, total=False):
    """What the SDK's client saw. Protocol objects are JSON in their wire shape."""

    protocolVersion: str
    serverInfo: dict[str, Any] | None
    capabilities: dict[str, Any]
    instructions: str | None
    discovered: dict[str, Any] | None
    """The result of `server/discover` (modern era; with a forced revision the SDK makes it up)."""
    prompts: list[dict[str, Any]]
    pages: int
    got: list[dict[str, Any]]
    """One result, or `{"error": {code, message, data}}`, for each of `get`."""
    completed: list[dict[str, Any]]
    """The same for each of `complete`."""
    notifications: list[dict[str, Any]]
    """All notifications in the order of their arrival."""
    acknowledged: dict[str, Any]
    """The filter that the server acknowledged (modern era, with a trigger)."""
    changed: bool
    """Whether a list_changed came after the trigger."""
    relisted: list[dict[str, Any]]
    """The list after the trigger."""


def options(named: Mapping[str, object]) -> Command:
    """Keyword arguments as long options: `page=10` is `--page 10`, `undeclared=True` is `--undeclared`."""
    line: list[str] = []
    for name, value in named.items():
        if value is not None and value is not False:
            line += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return tuple(line)


def peer(script: str, named: Mapping[str, object]) -> Command:
    """The command line of a script beside this one."""
    return (sys.executable, str(HERE / script), *options(named))


def sdk_server(**named: object) -> Command:
    """The command of a server on the official SDK; the options are those of `sdk_server.py`."""
    return peer("sdk_server.py", named)


def our_server(host: str, **named: object) -> Command:
    """The command of a server of our own over HTTP; the options are those of `our_server.py`."""
    return (*peer("our_server.py", {}), host, *options(named))


def raw_server(**named: object) -> Command:
    """The command of a server that misbehaves as the options of `raw_server.py` say."""
    return peer("raw_server.py", named)


def faulty_server(fault: str) -> Command:
    """The command of a server that breaks one rule of `mcp-sansio inspect`, if it is not `none`."""
    return (*peer("faulty_server.py", {}), fault)


def tampered(command: Sequence[str], **named: object) -> Command:
    """The command of a server whose traffic is tampered with as the options of `tamper.py` say."""
    return (*peer("tamper.py", named), "--", *command)


class Served:
    """A server over HTTP in a process of its own, from start to end."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process, self.url = self._started(port=0)

    def kill(self) -> None:
        """End the process, without a farewell to anybody."""
        self._process.kill()
        with self._process:
            pass  # which waits for the end and closes the pipe

    def stop(self) -> int:
        """Ask the process to end, and wait for that; its exit code."""
        self._process.terminate()
        return self._process.wait()

    def start_again(self) -> None:
        """Start another process of the kind at the same port."""
        port = int(self.url.split(":")[2].split("/")[0])
        self._process, _ = self._started(port)

    def _started(self, port: int) -> tuple[subprocess.Popen[str], str]:
        line = (*self._command, "--port", str(port))
        process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        assert process.stdout
        return process, process.stdout.readline().strip()


@contextmanager
def served(command: Sequence[str]) -> Generator[Served]:
    """Run the command of a server over HTTP for the block."""
    running = Served(command)
    try:
        yield running
    finally:
        running.kill()


def sdk_client(
    server: Sequence[str] | str,
    *,
    get: Sequence[tuple[str, Mapping[str, str]]] = (),
    complete: Sequence[tuple[str, str, str]] = (),
    write: tuple[Path, str] | None = None,
    change: tuple[str, Mapping[str, str]] | None = None,
    answer: Mapping[str, object] | None = None,
    **named: object,
) -> Report:
    """Run the client on the official SDK against a server (its command, or its URL), once, and return what it
    saw.

    `get` and `complete` are tried in order; `write` (a file and its text) or `change` (a prompt and its
    arguments) makes the list change, after which the client waits for the notification and lists again;
    `answer` is what it says when the server asks the user. Other options are those of `sdk_client.py`:
    `mode`, `revision`, `timeout`, `delete`.

    Raises `subprocess.CalledProcessError`, the client's stderr as a note, if the client fails.
    """
    line = [*peer("sdk_client.py", named)]
    for name, arguments in get:
        line += ["--get", name, json.dumps(arguments)]
    for reference in complete:
        line += ["--complete", *reference]
    if write:
        line += ["--write", *map(str, write)]
    if change:
        line += ["--change", change[0], json.dumps(change[1])]
    if answer is not None:
        line += ["--answer", json.dumps(answer)]
    target = ["--url", server] if isinstance(server, str) else ["--", *server]
    done = subprocess.run([*line, *target], capture_output=True, text=True, timeout=120, check=False)
    try:
        done.check_returncode()
    except subprocess.CalledProcessError as error:
        error.add_note(done.stderr)
        raise
    report: Report = json.loads(done.stdout)
    return report
