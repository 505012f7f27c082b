"""Two hundred prompt files in the styles in which they are found, some of them broken, served and checked.

They are in `prompt_corpus`, and what is wrong with them is in its `expected.txt`. A server of its own serves
them to a client in each era: all that can be served is listed and renders, and no line of a front matter is
ever part of a text.
"""

import asyncio
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest
from serving import LEGACY, MODERN
from test_cli_http import served as served_by_http
from test_folder_wild import served

from mcp_sansio import ClientConfig, GetPromptResult, Implementation, Prompt, TextContent
from mcp_sansio_adapters.asyncio import open_http_client

ROOT = Path(__file__).parent.parent
CORPUS = Path(__file__).parent / "prompt_corpus"
FILES = {path.relative_to(CORPUS).as_posix(): path.read_bytes() for path in sorted(CORPUS.rglob("*.md"))}

RENAMED = {
    "continue/check-code": "continue/Check code",
    "copilot/dotnet-upgrade": "copilot/.NET Upgrade Analysis Prompts",
    "mcp/agent-007": "mcp/007",
    "mcp/dotted names": "mcp/v2.1-draft (do not use)",
}
UNSERVED = {"mcp/tl-dr", "plain/latin-1", "plain/never-closed", "plain/only-front-matter"}

ACTIVE = re.compile(r"\{\{|\$\{input:|\$ARGUMENTS|\$[1-9]|<!--|\]\(")
"""What makes more of a text than itself."""


@attrs.frozen
class Expected:
    """A line of `expected.txt`."""

    file: str
    line: str
    severity: str
    reason: str


def expected() -> list[Expected]:
    lines = (CORPUS / "expected.txt").read_text(encoding="utf-8").splitlines()
    found = [re.fullmatch(r"(.+?):(\d+): (error|warning): (.+)", line) for line in lines if line[0] != "#"]
    return [Expected(*match.groups()) for match in found if match is not None]


def stem(file: str) -> str:
    return file.removesuffix(".md").removesuffix(".prompt")


def lines_of(raw: bytes) -> list[str]:
    """The lines of a file, whatever ends them."""
    text = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def taken_apart(raw: bytes) -> tuple[list[str], list[str]]:
    """The lines of the front matter, if there is one, and those of the body."""
    first, *rest = lines_of(raw)
    if first != "---":
        return [], [first, *rest]
    closing = next((index for index, line in enumerate(rest) if line.rstrip() == "---"), len(rest))
    return rest[:closing], rest[closing + 1 :]


def texts(result: GetPromptResult) -> list[str]:
    return [message.content.text for message in result.messages if isinstance(message.content, TextContent)]


def files_by_name() -> Mapping[str, str]:
    return {RENAMED.get(stem(file), stem(file)): file for file in FILES if stem(file) not in UNSERVED}


def test_there_are_two_hundred_of_many_kinds_and_thirty_are_broken_in_many_ways() -> None:
    broken = [each for each in expected() if each.severity == "error"]
    assert (len(FILES), len(broken), len({each.file for each in broken})) == (200, 30, 30)
    assert len({each.reason for each in broken}) > 15
    assert len({file.partition("/")[0] for file in FILES}) > 10


def test_the_files_are_as_they_were_written_whatever_has_carried_them_here() -> None:
    assert sum(raw.startswith(b"\xef\xbb\xbf") for raw in FILES.values()) == 6
    assert sum(b"\r\n" in raw for raw in FILES.values()) == 12
    assert b"\n" not in FILES["ends/carriage-returns.md"]
    assert b"\0" in FILES["plain/nul-byte.md"]
    assert not FILES["plain/emoji.md"].endswith(b"\n")
    assert b"---  \t\n" in FILES["mcp/closing-with-blanks.md"]
    with pytest.raises(UnicodeDecodeError):
        FILES["plain/latin-1.md"].decode()


@pytest.mark.live
def test_check_names_all_that_is_wrong_and_nothing_else() -> None:
    done = subprocess.run(
        (sys.executable, "-m", "mcp_sansio_adapters", "check", "tests/prompt_corpus"),
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    said = done.stdout.splitlines()
    for line, each in zip(said, expected(), strict=True):
        assert line.startswith(f"tests/prompt_corpus/{each.file}:{each.line}: {each.severity}: ")
        assert each.reason in line
    counts = Counter(each.severity for each in expected())
    summary = f"{len(files_by_name())} prompts, {counts['error']} errors, {counts['warning']} warnings"
    assert (done.returncode, done.stderr) == (1, f"mcp-sansio: {summary}\n")


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize("version", [LEGACY[-1], MODERN])
def test_all_that_can_be_served_is_listed_and_renders(version: str) -> None:
    files = files_by_name()
    whole = 0
    with served(CORPUS, version) as client:
        prompts = client.list_prompts().by_name
        assert sorted(prompts) == sorted(files)
        for name, file in files.items():
            values = required(prompts[name])
            shown = texts(client.get_prompt(name, values))
            matter, body = taken_apart(FILES[file])
            assert all(any(value in text for text in shown) for value in values.values()), file
            assert not [line for line in matter if line.strip() and line in "\n".join(shown).split("\n")], (
                file
            )
            if not ACTIVE.search("\n".join(body)):
                assert shown == ["\n".join(body).strip("\n")], file
                whole += 1
    assert whole >= 80


def required(prompt: Prompt) -> dict[str, str]:
    """A value for every argument that is required."""
    return {argument.name: f"<{argument.name}>" for argument in prompt.arguments or () if argument.required}


@pytest.mark.live
@pytest.mark.parametrize("version", [LEGACY[-1], MODERN])
def test_names_in_all_scripts_pass_through_the_headers_of_http(version: str) -> None:
    config = ClientConfig(info=Implementation("test", "1"), versions=(version,))

    async def scenario(url: str) -> int:
        async with open_http_client(url, config=config) as client:
            prompts = (await client.list_prompts()).by_name
            for name, prompt in prompts.items():
                assert (await client.get_prompt(name, required(prompt))).messages, name
            return len(prompts)

    with served_by_http(CORPUS / "i18n") as (url, _):
        assert asyncio.run(scenario(url)) == sum(file.startswith("i18n/") for file in FILES)
