"""Hosts' configurations: what their files mean, and what is said about those that mean nothing."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_sansio import LocalProtocolError
from mcp_sansio_adapters import hosts
from mcp_sansio_adapters.hosts import HostConfig, HostConfigError, HostInput, HostServer, read_host_config

ENVIRON = {"TOKEN": "t0k", "EMPTY": "", "PATH": "/bin"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory of the test's own; the project is a folder in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def written(document: Any, name: str = "hosts.json") -> Path:
    """A configuration file in the project."""
    path = Path.cwd() / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        document if isinstance(document, str) else json.dumps(document, indent=1), encoding="utf-8"
    )
    return path


def read(document: Any, name: str = "hosts.json", **options: Any) -> HostConfig:
    return read_host_config(written(document, name), **{"environ": ENVIRON, **options})


def one(entry: Any, name: str = "hosts.json", section: str = "mcpServers", **options: Any) -> HostServer:
    """The only server of a configuration."""
    return read({section: {"x": entry}}, name, **options).server("x")


def refused(entry: Any, **options: Any) -> str:
    """What is said about a server, after the file, its line and its name."""
    with pytest.raises(HostConfigError) as error:
        one(entry, **options)
    place = f"{error.value.path}:{error.value.line}: server 'x': "
    assert (error.value.name, error.value.line) == ("x", 3)
    assert str(error.value).startswith(place)
    return str(error.value).removeprefix(place)


# --- the forms of the hosts ---


def test_claude_desktop() -> None:
    document = {
        "mcpServers": {
            "files": {"command": "npx", "args": ["-y", "@m/files", "/srv"], "env": {"KEY": "v"}},
            "web": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer x"}},
        },
        "globalShortcut": "",
    }
    config = read(document)
    assert (config.names, config.disabled) == (("files", "web"), ())
    assert config.server("files") == HostServer(
        "files", ("npx", "-y", "@m/files", "/srv"), {**ENVIRON, "KEY": "v"}
    )
    headers = {"Authorization": "Bearer x"}
    assert config.server("web") == HostServer("web", url="https://example.com/mcp", headers=headers)


def test_claude_code_fills_in_variables_and_defaults_in_its_five_places() -> None:
    entry = {"command": "${BIN:-run}", "args": ["${TOKEN}", "${EMPTY:-full}"], "env": {"A": "<${TOKEN}>"}}
    server = one(entry, ".mcp.json")
    assert server.command == ("run", "t0k", "")
    assert server.env is not None
    assert server.env["A"] == "<t0k>"
    assert server.cwd == str(Path.cwd())
    web = {"type": "http", "url": "https://${HOST:-example.com}/", "headers": {"X": "${TOKEN}"}}
    server = one(web)
    assert (server.url, server.headers) == ("https://example.com/", {"X": "t0k"})


def test_cursor(home: Path) -> None:
    args = [
        "${env:TOKEN}",
        "${userHome}",
        "${workspaceFolder}",
        "${workspaceFolderBasename}",
        "${/}${pathSeparator}",
    ]
    server = one({"command": "a", "args": args}, ".cursor/mcp.json")
    assert server.command == ("a", "t0k", str(home), str(home / "project"), "project", os.sep * 2)
    assert server.cwd == str(home / "project")


def test_a_file_of_the_person_belongs_to_no_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    assert one({"command": "a"}, ".cursor/mcp.json").cwd is None
    assert one({"command": "a"}, ".cursor/mcp.json", workspace=home / "w").cwd == str(home / "w")


COMMENTED = """{
  // what VS Code writes
  "inputs": [
    {"type": "promptString", "id": "key", "description": "API key", "password": true},
    {"type": "pickString", "id": "size", "description": "", "default": "s",
     "options": ["s", {"label": "L", "value": "l"}]},
    {"type": "command", "id": "run", "command": "x"}, "odd", {"id": 1},
  ],
  "servers": {
    /* the only one */
    "x": {"type": "stdio", "command": "~/bin/x", "args": ["~", "~x"],
          "env": {"K": "${input:key}", "AGAIN": "${input:key}", "S": "${input:size}",
                  "PATH": "/opt", "EMPTY": null}},
    "run": {"command": "${input:run}"},
  },
}"""


def test_vscode_with_comments_inputs_and_its_own_rules_for_path_and_home(home: Path) -> None:
    asked: list[HostInput] = []

    def ask(wanted: HostInput) -> str:
        asked.append(wanted)
        return "${TOKEN}" if wanted.password else wanted.options[-1]

    config = read(COMMENTED, ".vscode/mcp.json", ask=ask)
    assert asked == []
    server = config.server("x")
    assert config.server("x") == server
    assert asked == [
        HostInput("key", "API key", password=True),
        HostInput("size", "size", default="s", options=("s", "l")),
    ]
    assert server.command == (f"{home}/bin/x", str(home), "~x")
    assert server.env == {"TOKEN": "t0k", "PATH": "/bin:/opt", "K": "${TOKEN}", "AGAIN": "${TOKEN}", "S": "l"}
    assert server.cwd == str(Path.cwd())
    with pytest.raises(
        HostConfigError, match=r"""x.json:14: server 'run': "command": there is no input 'run'; add"""
    ):
        read(COMMENTED, "x.json").server("run")


def test_vscode_settings() -> None:
    config = read({"editor.fontSize": 12, "mcp": {"servers": {"x": {"command": "a"}}}}, "settings.json")
    assert config.server("x").command == ("a",)
    path = one({"command": "a", "env": {"PATH": "/opt"}}).env
    assert path is not None
    assert path["PATH"] == "/opt"  # of Claude and Cursor nothing of the kind is known


@pytest.mark.parametrize("kind", ["http", "streamable-http", None])
def test_a_url_has_either_name_and_either_type(kind: str | None) -> None:
    entry = {"serverUrl": "http://localhost:1/mcp", **({"type": kind} if kind else {})}
    assert one(entry).url == "http://localhost:1/mcp"


def test_an_environment_file_stands_between_ours_and_env() -> None:
    text = "# c\nexport A=1\nB=\"two words\" # c\nC='$A'\nTOKEN=file\nbare\nD=file\n"
    written(text, "some.env")
    entry = {"command": "a", "envFile": "${workspaceFolder}/some.env", "env": {"D": "env"}}
    added = {"A": "1", "B": "two words", "C": "$A", "TOKEN": "file", "D": "env"}
    assert one(entry).env == {**ENVIRON, **added}
    assert one({**entry, "envFile": "some.env"}).env == {**ENVIRON, **added}


def test_a_directory_is_relative_to_the_folder(home: Path) -> None:
    assert one({"command": "a", "cwd": "sub"}).cwd == str(Path.cwd() / "sub")
    assert one({"command": "a", "cwd": "/abs"}).cwd == "/abs"
    assert one({"command": "a", "cwd": "~/w"}).cwd == str(home / "w")
    assert one({"command": "a", "cwd": "sub"}, workspace=Path("/w")).cwd == "/w/sub"


def test_our_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "1")
    env = read_host_config(written({"mcpServers": {"x": {"command": "a"}}})).server("x").env
    assert env == {**os.environ}
    assert one({"command": "a"}, environ={}).env == {}


def test_secrets_are_not_shown() -> None:
    assert "t0k" not in repr(one({"command": "a"}))


# --- what is wrong ---


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ([], 'is no object; write {"command": "…"} or {"url": "…"}'),
        ({}, 'has no "command"; write the program to start, or the "url" of a server that runs'),
        ({"command": ""}, 'has no "command"'),
        ({"type": "stdio", "url": "http://x"}, 'has no "command"'),
        (
            {"type": "http"},
            'has no "url"; write where the server is, or "type": "stdio" to start a "command"',
        ),
        ({"type": "http", "command": "a"}, 'has no "url"'),
        ({"command": "a", "url": "http://x"}, 'has both "command" and "url"; leave one of them out'),
        ({"type": "sse", "url": "http://x"}, "the old HTTP+SSE transport is not spoken; if the server has"),
        ({"type": "ws", "url": "http://x"}, "type 'ws' is not spoken; write \"stdio\" with"),
        ({"type": [], "url": "http://x"}, "type [] is not spoken"),
        ({"url": "unix:///tmp/x"}, '"url": a URL begins with http:// or https://'),
        ({"url": 5}, '"url" is no string; write "5"'),
        ({"command": "a", "args": "b"}, '"args" is no array; write ["one", "two"]'),
        ({"command": "a", "args": ["b", 1]}, '"args[1]" is no string; write "1"'),
        ({"command": "a", "env": []}, '"env" is no object; write {"NAME": "value"}'),
        ({"command": "a", "env": {"K": 8080}}, '"env.K" is no string; write "8080"'),
        ({"command": "a", "env": {"K": True}}, '"env.K" is no string; write "true"'),
        ({"command": "a", "env": {"K": {}}}, '"env.K" is no string'),
        ({"command": "a", "cwd": 1}, '"cwd" is no string; write "1"'),
        ({"url": "http://x", "headers": {"X": None}}, '"headers.X" is no string'),
        ({"command": "a", "envFile": "no.env"}, '"envFile" cannot be read: [Errno 2]'),
        ({"command": "${NO}"}, '"command": NO is not set; set it, or write ${NO:-a default}'),
        ({"command": "a", "env": {"K": "${env:NO}"}}, '"env.K": NO is not set'),
        ({"command": "${A:-${B}}"}, '"command": the default of A has a variable in it; write its value'),
        (
            {"command": "${command:x}"},
            '"command": ${command:x} means nothing here; write its value in its place',
        ),
        (
            {"command": "${input:k}"},
            '"command": there is no input \'k\'; add it to "inputs", or write its value',
        ),
        ({"command": "a", "disabled": True}, 'is disabled; take out "disabled" to use it'),
    ],
)
def test_what_is_wrong_with_a_server_is_said_with_what_to_write(entry: Any, said: str) -> None:
    assert refused(entry).startswith(said)


def test_an_input_that_nobody_can_be_asked_for() -> None:
    inputs = [{"type": "promptString", "id": "k"}]
    config = read({"servers": {"x": {"command": "${input:k}"}}, "inputs": inputs})
    with pytest.raises(
        HostConfigError, match=r"nobody can be asked for 'k'; write \$\{env:NAME\} and set NAME"
    ):
        config.server("x")


def test_an_unknown_server_is_told_with_those_like_it() -> None:
    config = read({"mcpServers": {"github": {}, "gitlab": {}, "off": {"disabled": True}}})
    assert (config.names, config.disabled) == (("github", "gitlab"), ("off",))
    with pytest.raises(HostConfigError, match="no server 'githbu' here; did you mean 'github'"):
        config.server("githbu")
    with pytest.raises(HostConfigError, match=r"no server 'zzz' here; there are 'github', 'gitlab'$"):
        config.server("zzz")
    with pytest.raises(HostConfigError, match=r"there are none$"):
        read({"mcpServers": {}}).server("x")


@pytest.mark.parametrize(
    "document", [{}, [], {"mcpServers": []}, {"mcp": {"servers": 1}}, {"mcp": 1}, "null"]
)
def test_a_file_without_servers(document: Any) -> None:
    with pytest.raises(
        HostConfigError, match='has no servers; they are members of an object "mcpServers"'
    ) as error:
        read(document)
    assert error.value.line is None


@pytest.mark.parametrize(
    ("text", "line"), [('{\n "a": 1\n "b": 2}', 3), ("", None), ("[" * 100_000, None), ('{"a": "', 1)]
)
def test_a_file_that_is_no_json(text: str, line: int | None) -> None:
    with pytest.raises(HostConfigError, match="is no JSON: ") as error:
        read(text)
    assert error.value.line == line


def test_a_file_that_cannot_be_read() -> None:
    with pytest.raises(HostConfigError, match="cannot be read: "):
        read_host_config(Path("nowhere.json"))
    Path("latin.json").write_bytes(b'{"\xe4": 1}')
    with pytest.raises(HostConfigError, match="cannot be read: "):
        read_host_config(Path("latin.json"))
    assert issubclass(HostConfigError, LocalProtocolError)


def test_the_line_is_that_of_the_server_and_not_of_another_key() -> None:
    text = '{"inputs": [],\n "ü": 1,\n "mcpServers": {\n  "a": {"command": "a"},\n\n  "ü" : {}}}'
    with pytest.raises(HostConfigError) as error:
        read("\ufeff" + text).server("ü")
    assert error.value.line == 6
    with pytest.raises(HostConfigError) as error:
        read('{"mcpServers": {"\\u0061": {}}}').server("a")
    assert error.value.line is None


# --- where they are ---


def test_the_projects_file_comes_before_the_persons(home: Path) -> None:
    servers: Mapping[str, Any] = {"mcpServers": {}}
    with pytest.raises(
        HostConfigError, match=r"cursor has no configuration here; looked for .*project/.* or "
    ):
        hosts.find_host_config("cursor")
    theirs = written(servers, str(home / ".cursor/mcp.json"))
    assert hosts.find_host_config("cursor") == theirs
    ours = written(servers, ".cursor/mcp.json")
    assert hosts.find_host_config("cursor") == ours
    assert hosts.find_host_config("cursor", project=home / "other") == theirs
    assert set(hosts.HOSTS) == {"claude", "claude-desktop", "cursor", "vscode"}
