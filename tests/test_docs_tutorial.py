"""The tutorial: its commands print what stands below them, and what it gives to hosts starts a server."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
from pathlib import Path

import pytest
from transcripts import typed_again

from mcp_sansio_adapters.asyncio import open_server
from mcp_sansio_adapters.hosts import read_host_config

PAGE = (Path(__file__).parent.parent / "docs" / "tutorial.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^### (.*)$(?:.*\n)*?```json\n((?:.*\n)*?)```$", PAGE, re.MULTILINE)

pytestmark = pytest.mark.live


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def test_the_commands_print_what_stands_below_them(tmp_path: Path) -> None:
    (server,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "server.py").write_text(server, encoding="utf-8")
    seen = typed_again(PAGE.replace("127.0.0.1:8000", f"127.0.0.1:{free_port()}"), tmp_path)
    assert len(seen) > 12
    for typed, said, heard in seen:
        assert heard == said, typed


def test_there_is_a_snippet_for_every_host() -> None:
    assert [host for host, _ in SNIPPETS] == ["Claude Desktop", "Cursor", "VS Code"]


@pytest.mark.parametrize("snippet", [snippet for _, snippet in SNIPPETS], ids=[host for host, _ in SNIPPETS])
def test_what_hosts_are_given_starts_a_server(snippet: str, tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "hello.md").write_text("Say hello.", encoding="utf-8")
    here = snippet.replace("/path/to/.venv/bin", str(Path(sys.executable).parent))
    here = here.replace("/path/to/prompts", str(tmp_path / "prompts"))
    (tmp_path / "mcp.json").write_text(here, encoding="utf-8")
    found = read_host_config(tmp_path / "mcp.json").server("prompts")

    async def names() -> list[str]:
        async with open_server(found) as client:
            return [prompt.name for prompt in await client.list_prompts()]

    assert asyncio.run(names()) == ["hello"]
