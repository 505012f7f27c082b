"""Transcripts in the documentation, typed again: what is typed there says what is written there.

All of a page is typed into one shell. What runs in the background prints when it likes, so a command has said
its part when as many lines have come as the page has for it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

TRANSCRIPT = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END = "--end--"
PATIENCE = 60.0
"""How long everything may take, in seconds."""

OTHER_EVERY_TIME = (
    (r'"version":"[^"]*"', '"version":"…"'),
    (r"[0-9a-f]{64}", "…"),
    (r"^[0-2][0-9](:[0-5][0-9]){2} ", "… "),
    (r"watched for [0-9]+ s", "watched for … s"),
)


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
    """Lines without what is another every time; blank ones do not count, nor does space at their ends."""
    text = "\n".join(line.rstrip() for line in lines if line.strip())
    for pattern, stands_for_it in OTHER_EVERY_TIME:
        text = re.sub(pattern, stands_for_it, text, flags=re.MULTILINE)
    return text.splitlines()


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


def typed_again(page: str, folder: Path) -> list[tuple[str, list[str], list[str]]]:
    """Every command of a page, what it says there, and what it says in a shell in `folder`.

    The commands that stand beside this Python are found first.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    with subprocess.Popen(
        ["/bin/sh"],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        shell = Shell(process)
        seen = [(typed, said, shell.say(typed, len(said))) for typed, said in commands(page)]
        watchdog.cancel()
    return seen
