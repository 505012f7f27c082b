"""The transcripts of `docs/http.md`: what is typed there says what is written there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from transcripts import typed_again

PAGE = Path(__file__).parent.parent / "docs" / "http.md"
FILE = re.compile(r"^```markdown\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.live


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


@pytest.mark.skipif(
    shutil.which("curl") is None, reason="the transcripts are made with curl, which is not here"
)
def test_the_transcripts_are_true(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (written,) = FILE.findall(text)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "hello.md").write_text(written, encoding="utf-8")
    with served(tmp_path / "prompts") as url:
        seen = typed_again(text.replace("http://127.0.0.1:8000/mcp", url), tmp_path)
    assert len(seen) > 15
    for typed, said, heard in seen:
        assert heard == said, typed
