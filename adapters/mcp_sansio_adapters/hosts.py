"""The servers that people have configured already: `mcpServers` of Claude and Cursor, `servers` of VS Code.

    config = read_host_config(Path(".vscode/mcp.json"), ask=ask_the_person)
    server = config.server("github")

A file is read as a whole, but a server is looked at only when it is asked for: what is wrong with one costs
no other one, and nobody is asked for the input of a server that is not wanted. What comes out is what a
front end's `open_server` takes, with every variable filled in (`_host_variables`). `docs/hosts.md` says which
fields there are, what the hosts do about them, and where we decided otherwise.
"""

from __future__ import annotations

import difflib
import io
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import attrs

from mcp_sansio import HttpUrl, LocalProtocolError

from ._host_variables import Ask, HostInput, Json, UndefinedVariable, Variables, as_array, as_object

__all__ = [
    "HOSTS",
    "Ask",
    "HostConfig",
    "HostConfigError",
    "HostInput",
    "HostServer",
    "find_host_config",
    "read_host_config",
]

SECTIONS = (("mcpServers",), ("servers",), ("mcp", "servers"))
"""Where servers stand: with Claude and Cursor, in VS Code's `mcp.json`, and in its `settings.json`."""

HTTP_TYPES = ("http", "streamable-http")
SIMILAR = 3

APPLICATIONS = "Library/Application Support" if platform.system() == "Darwin" else ".config"

HOSTS: Mapping[str, tuple[str, ...]] = {
    "claude": (".mcp.json", "~/.claude.json"),
    "claude-desktop": (f"~/{APPLICATIONS}/Claude/claude_desktop_config.json",),
    "cursor": (".cursor/mcp.json", "~/.cursor/mcp.json"),
    "vscode": (".vscode/mcp.json", f"~/{APPLICATIONS}/Code/User/mcp.json"),
}
"""Where hosts have their configuration: the project's comes before the person's."""


class HostConfigError(LocalProtocolError):
    """A configuration cannot be used: which file and line, which server of it, and what to write.

    `path` is the file, `name` the server and `line` where it begins, so far as that is known.
    """

    def __init__(self, path: Path, problem: str, name: str | None = None, line: int | None = None) -> None:
        place = str(path) if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {problem}" if name is None else f"{place}: server {name!r}: {problem}")
        self.path = path
        self.name = name
        self.line = line


@attrs.frozen
class HostServer:
    """A server that is ready to be opened: by its command or by its URL, never both.

    `command` has its arguments, `env` is its whole environment, and `cwd` the directory that it runs in, ours
    if None. `headers` go with every request to `url`.
    """

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] | None = attrs.field(default=None, repr=False)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict[str, str], repr=False)


class HostConfig:
    """The servers of one file. `names` are those that are switched on, `disabled` the others."""

    def __init__(
        self, path: Path, text: str, *, workspace: Path | None, environ: Mapping[str, str], ask: Ask | None
    ) -> None:
        self.path = path
        self.environ = environ
        self.workspace = workspace or workspace_of(path)
        self.folder = self.workspace or Path.cwd()
        self._text = text
        self._section, holder = self._found(_parsed(path, text))
        self._entries = as_object(holder[self._section])
        self.of_vscode = self._section == "servers"
        self.variables = Variables(holder.get("inputs"), self.folder, environ, ask)
        off = [name for name, entry in self._entries.items() if as_object(entry).get("disabled") is True]
        self.disabled = tuple(off)
        self.names = tuple(name for name in self._entries if name not in off)

    def server(self, name: str) -> HostServer:
        """The server of this name. Raises `HostConfigError` for what is wrong with it; may ask the person."""
        if name not in self._entries:
            self.fail(f"no server {name!r} here{self._others(name)}")
        if name in self.disabled:
            self.fail('is disabled; take out "disabled" to use it', name)
        return Entry(self, name, self._entries[name]).server()

    def fail(self, problem: str, name: str | None = None) -> NoReturn:
        """Raise `HostConfigError` about the file, or about one of its servers."""
        raise HostConfigError(self.path, problem, name, None if name is None else self._line(name))

    def _found(self, document: Any) -> tuple[str, Json]:
        """The section that has the servers, and what it stands in."""
        for *above, name in SECTIONS:
            holder = _inside(document, above)
            if isinstance(holder.get(name), Mapping):
                return name, holder
        raise HostConfigError(
            self.path,
            'has no servers; they are members of an object "mcpServers" or, for VS Code, "servers"',
        )

    def _others(self, name: str) -> str:
        close = difflib.get_close_matches(name, self.names, SIMILAR)
        if close:
            return f"; did you mean {' or '.join(map(repr, close))}?"
        return f"; there are {', '.join(map(repr, self.names))}" if self.names else "; there are none"

    def _line(self, name: str) -> int | None:
        """Where a server begins: the first time that its name is a key after that of the section."""
        key = re.compile(re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:")
        match = key.search(self._text, max(self._text.find(f'"{self._section}"'), 0))
        return None if match is None else self._text.count("\n", 0, match.start()) + 1


class Entry:
    """One server as it is written, being turned into what it means."""

    def __init__(self, config: HostConfig, name: str, raw: Any) -> None:
        self._config = config
        self._name = name
        self._raw = as_object(raw)
        if not isinstance(raw, Mapping):
            self._fail('is no object; write {"command": "…"} or {"url": "…"}')

    def server(self) -> HostServer:
        """What it means."""
        command, url = self._raw.get("command"), self._raw.get("url", self._raw.get("serverUrl"))
        kind = self._raw.get("type", "stdio" if url is None else "http")
        if kind == "sse":
            self._fail(
                "the old HTTP+SSE transport is not spoken; if the server has Streamable HTTP as well, write "
                '"type": "http" and the "url" of that'
            )
        if kind not in ("stdio", *HTTP_TYPES):
            self._fail(f'type {kind!r} is not spoken; write "stdio" with a "command", or "http" with a "url"')
        if command is not None and url is not None:
            self._fail('has both "command" and "url"; leave one of them out')
        return self._started(command) if kind == "stdio" else self._reached(url)

    def _started(self, command: Any) -> HostServer:
        if command in (None, ""):
            self._fail('has no "command"; write the program to start, or the "url" of a server that runs')
        words = [self._text("command", command), *self._arguments()]
        if self._config.of_vscode:
            words = [_at_home(word) for word in words]
        return HostServer(self._name, tuple(words), self._environment(), self._directory())

    def _reached(self, url: Any) -> HostServer:
        if url in (None, ""):
            self._fail('has no "url"; write where the server is, or "type": "stdio" to start a "command"')
        text = self._text("url", url)
        try:
            HttpUrl.parse(text)
        except LocalProtocolError as error:
            self._fail(f'"url": {error}')
        headers = {
            key: self._text(f"headers.{key}", value) for key, value in self._members("headers").items()
        }
        return HostServer(self._name, url=text, headers=headers)

    def _arguments(self) -> list[str]:
        raw = self._raw.get("args")
        if raw is not None and not isinstance(raw, list):
            self._fail('"args" is no array; write ["one", "two"]')
        return [self._text(f"args[{at}]", each) for at, each in enumerate(as_array(raw))]

    def _environment(self) -> dict[str, str]:
        """Ours, over that the file `envFile`, over that `env`, where null takes a variable out."""
        environment = {**self._config.environ, **self._env_file()}
        for key, value in self._members("env").items():
            if value is None:
                environment.pop(key, None)
                continue
            before = environment.get(key, "") if key == "PATH" and self._config.of_vscode else ""
            text = self._text(f"env.{key}", value)
            environment[key] = f"{before}{os.pathsep}{text}" if before else text
        return environment

    def _env_file(self) -> dict[str, str]:
        raw = self._raw.get("envFile")
        if raw is None:
            return {}
        from dotenv import dotenv_values  # noqa: PLC0415  # it comes with the extra `cli`

        path = self._path(self._text("envFile", raw))
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self._fail(f'"envFile" cannot be read: {error}')
        read = dotenv_values(stream=io.StringIO(text), interpolate=False)
        return {key: value for key, value in read.items() if value is not None}

    def _directory(self) -> str | None:
        """What `cwd` says, else the folder that the file belongs to, if it does."""
        if self._raw.get("cwd") is not None:
            return str(self._path(self._text("cwd", self._raw["cwd"])))
        return None if self._config.workspace is None else str(self._config.workspace)

    def _path(self, text: str) -> Path:
        return self._config.folder / _at_home(text)

    def _members(self, key: str) -> Json:
        raw = self._raw.get(key)
        if raw is not None and not isinstance(raw, Mapping):
            self._fail(f'"{key}" is no object; write {{"NAME": "value"}}')
        return as_object(raw)

    def _text(self, where: str, value: Any) -> str:
        """A string with its variables filled in."""
        if not isinstance(value, str):
            hint = f'; write "{json.dumps(value)}"' if isinstance(value, int | float) else ""
            self._fail(f'"{where}" is no string{hint}')
        try:
            return self._config.variables.fill(value)
        except UndefinedVariable as error:
            self._fail(f'"{where}": {error}')

    def _fail(self, problem: str) -> NoReturn:
        self._config.fail(problem, self._name)


def read_host_config(
    path: Path,
    *,
    ask: Ask | None = None,
    workspace: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> HostConfig:
    """Read a host's configuration file.

    `ask` is called for an input when a server that needs it is asked for. `workspace` is what
    `${workspaceFolder}` stands for, where relative paths begin and servers run: by default the folder that
    the file belongs to, if it does. `environ` takes the place of this process's environment. Raises
    `HostConfigError` for a file that cannot be read or has no servers.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise HostConfigError(path, f"cannot be read: {error}") from error
    environ = {**os.environ} if environ is None else environ
    return HostConfig(path, text, workspace=workspace, environ=environ, ask=ask)


def find_host_config(host: str, *, project: Path | None = None) -> Path:
    """The configuration file of a host of `HOSTS`: that of the project, by default the current directory,
    else the person's. Raises `HostConfigError` if there is neither.
    """
    places = [(project or Path.cwd()) / _at_home(place) for place in HOSTS[host]]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        looked = " or ".join(map(str, places))
        raise HostConfigError(places[0], f"{host} has no configuration here; looked for {looked}")
    return found


def workspace_of(path: Path) -> Path | None:
    """The folder that a configuration file belongs to; None if it is one person's, for whatever folder."""
    folder = path.absolute().parent
    if path.name == ".mcp.json":
        return folder
    of_project = folder.name in (".vscode", ".cursor") and folder.parent != Path.home()
    return folder.parent if of_project else None


def _parsed(path: Path, text: str) -> Any:
    """JSON; if it is not strict, with comments and trailing commas, as people write it for VS Code."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    import json5  # noqa: PLC0415  # it comes with the extra `cli`, and most files do without

    try:
        return json5.loads(text)
    except (ValueError, RecursionError) as error:
        match = re.match(r"<string>:(\d+) (.*)", str(error), re.DOTALL)
        line, reason = (int(match[1]), match[2]) if match else (None, str(error))
        raise HostConfigError(path, f"is no JSON: {reason}", line=line) from None


def _inside(document: Any, keys: Sequence[str]) -> Json:
    for key in keys:
        document = as_object(document).get(key)
    return as_object(document)


def _at_home(text: str) -> str:
    """The text, with the home directory for the `~` that it begins with."""
    return str(Path.home()) + text[1:] if text == "~" or text.startswith("~/") else text
