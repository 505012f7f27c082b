"""The transcripts of `docs/http.md`: what is typed there says what is written there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "http.md"
TRANSCRIPT = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```markdown\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END = "--end--"

pytestmark = pytest.mark.live


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Every command of the page, and what it prints."""
    for block in TRANSCRIPT.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            typed = [lines.pop(0)]
            while lines and lines[0].startswith("> "):
                typed.append(lines.pop(0)[2:])
            yield "\n".join(typed), "\n".join(lines)


@pytest.mark.skipif(
    shutil.which("curl") is None, reason="the transcripts are made with curl, which is not here"
)
def test_the_transcripts_are_true(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (written,) = FILE.findall(text)
    (tmp_path / "hello.md").write_text(written, encoding="utf-8")
    command = (sys.executable, "-m", "mcp_sansio_adapters", "serve", str(tmp_path), "--http", "0")
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server,
        subprocess.Popen(["/bin/sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell,
    ):
        try:
            assert server.stderr is not None
            url = server.stderr.readline().split()[3].rstrip(",")
            seen = [(typed, said, typed_into(shell, typed, url)) for typed, said in commands(text)]
        finally:
            server.kill()
            shell.kill()
    assert len(seen) > 8
    for typed, said, printed in seen:
        assert printed == said, typed


def typed_into(shell: subprocess.Popen[str], typed: str, url: str) -> str:
    """What a shell prints for a command."""
    assert shell.stdin is not None
    assert shell.stdout is not None
    shell.stdin.write(typed.replace("http://127.0.0.1:8000/mcp", url) + f"\necho; echo {END}\n")
    shell.stdin.flush()
    printed = ""
    while not printed.endswith(f"{END}\n"):
        printed += shell.stdout.readline()
    return printed.removesuffix(f"{END}\n").replace("\r", "").rstrip("\n")
