"""The transcripts of `docs/http.md`: what is typed there says what is written there.

All of it is typed into one shell. What runs in the background prints when it likes, so a command has said
its part when as many lines have come as the page has for it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "http.md"
TRANSCRIPT = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```markdown\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END = "--end--"
PATIENCE = 60.0
"""How long everything may take, in seconds."""

pytestmark = pytest.mark.live


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Every command of the page, and the lines that it prints."""
    for block in TRANSCRIPT.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            typed = [lines.pop(0)]
            while lines and lines[0].startswith("> "):
                typed.append(lines.pop(0)[2:])
            yield "\n".join(typed), told(lines)


def told(lines: list[str]) -> list[str]:
    """Lines without what is another at every release; blank ones do not count."""
    text = "\n".join(line for line in lines if line.strip())
    text = re.sub(r'"version":"[^"]*"', '"version":"…"', text)
    return re.sub(r"[0-9a-f]{64}", "…", text).splitlines()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The URL of a folder that is being served."""
    command = (sys.executable, "-m", "mcp_sansio_adapters", "serve", str(folder), "--http", "0")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            yield server.stderr.readline().split()[3].rstrip(",")
        finally:
            server.kill()


class Shell:
    """A shell that somebody types into."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout

    def say(self, typed: str, lines: int) -> list[str]:
        """What comes of a command: at least so many lines, unless the shell ends."""
        self._in.write(f"{typed}\necho; echo {END}\n")
        self._in.flush()
        heard: list[str] = []
        over = False
        while not (over and len(heard) >= lines):
            line = self._out.readline()
            if not line:
                break
            over = over or line == f"{END}\n"
            heard += told([line]) if line != f"{END}\n" else []
        return heard


@pytest.mark.skipif(
    shutil.which("curl") is None, reason="the transcripts are made with curl, which is not here"
)
def test_the_transcripts_are_true(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (written,) = FILE.findall(text)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "hello.md").write_text(written, encoding="utf-8")
    with (
        served(tmp_path / "prompts") as url,
        subprocess.Popen(
            ["/bin/sh"],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        shell = Shell(process)
        page = text.replace("http://127.0.0.1:8000/mcp", url)
        seen = [(typed, said, shell.say(typed, len(said))) for typed, said in commands(page)]
        watchdog.cancel()
    assert len(seen) > 15
    for typed, said, heard in seen:
        assert heard == said, typed
