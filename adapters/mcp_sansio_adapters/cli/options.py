"""The options that commands share: which server is asked, in which revisions, and for how long.

A command that is `asking` gets an `Asking`, which finds the server among the words of the command line: the
command after `--`, else the first word, which is a URL or, with `--config`, a name in that file.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs
import click

from mcp_sansio import ALL_VERSIONS, LEGACY_VERSIONS, MODERN_VERSIONS, HttpUrl, LocalProtocolError
from mcp_sansio_adapters.hosts import (
    HOSTS,
    HostConfig,
    HostConfigError,
    HostInput,
    HostServer,
    find_host_config,
    read_host_config,
)

from . import show
from .guard import QUESTION, say
from .servers import Question

F = TypeVar("F", bound=Callable[..., Any])

ERAS = {"legacy": LEGACY_VERSIONS, "modern": MODERN_VERSIONS}


def revisions(function: F) -> F:
    """The options that choose revisions of the protocol: the command gets them as `versions`."""

    @click.option(
        "--era",
        type=click.Choice(tuple(ERAS)),
        help=f"Speak the revisions of one era only: up to {LEGACY_VERSIONS[-1]}, or later.",
    )
    @click.option(
        "--protocol-version",
        "versions",
        multiple=True,
        type=click.Choice(ALL_VERSIONS),
        help="Speak this revision only; may be repeated.",
    )
    @functools.wraps(function)
    def call(*args: Any, versions: tuple[str, ...], era: str | None, **options: Any) -> Any:
        return function(*args, versions=_chosen(versions, era), **options)

    return call  # type: ignore[return-value]  # a command in place of a command


def _chosen(versions: tuple[str, ...], era: str | None) -> tuple[str, ...]:
    of_era = ALL_VERSIONS if era is None else ERAS[era]
    chosen = tuple(version for version in of_era if not versions or version in versions)
    if not chosen:
        raise click.UsageError(f"--protocol-version {versions[0]} is not of the {era} era: leave out --era.")
    return chosen


@attrs.frozen
class Asking:
    """What the command line says about whom to ask, and how."""

    config: HostConfig | None
    headers: Mapping[str, str]
    versions: tuple[str, ...]
    timeout: float
    command: tuple[str, ...] | None

    def split(self, words: Sequence[str], *names: str, optional: str = "") -> tuple[Question, list[str]]:
        """The server, and the words after it, which the caller calls `names`; the last may be `optional`.

        Raises `click.UsageError` for too many words and too few.
        """
        own = self.command is None
        usage = (*names, f"[{optional}]") if optional else names
        if len(words) < own + len(names):
            raise click.UsageError(
                f"{'No server' if own and not words else 'Too few words'}: {_usage(*usage)}."
            )
        if len(words) > own + len(usage):
            raise click.UsageError(f"Too many words: {' '.join(words)}; {_usage(*usage)}.")
        return self._named(words[0]) if own else self._started(), [*words[own:]]

    def all(self, words: Sequence[str]) -> list[Question]:
        """Every server that is named: by a word each, and by the command after `--`.

        All of a configuration file if none of its servers is.
        """
        questions = [self._named(word) for word in words]
        if self.command is not None:
            questions.append(self._started())
        if self.config is not None and self.everything(words):
            questions = [self._configured(self.config, name) for name in self.config.names]
        if not questions:
            raise click.UsageError(f"No server: {_usage()}.")
        return questions

    def everything(self, words: Sequence[str]) -> bool:
        """Whether all servers of a configuration are meant."""
        return self.config is not None and not words and self.command is None

    def _started(self) -> Question:
        if not self.command:
            raise click.UsageError("No server: the command that starts one stands after --.")
        return self._question(HostServer(Path(self.command[0]).name, command=self.command))

    def _named(self, word: str) -> Question:
        if self.config is not None and "://" not in word:
            return self._configured(self.config, word)
        _must_be_a_url(word)
        return self._question(HostServer(word, url=word))

    def _configured(self, config: HostConfig, name: str) -> Question:
        try:
            server = config.server(name)
        except HostConfigError as error:
            raise click.UsageError(_sentence(error)) from None
        return self._question(server, f"{name!r} in {config.path}")

    def _question(self, server: HostServer, origin: str = "the command after --") -> Question:
        if self.headers and server.url is None:
            raise click.UsageError("--header is for servers that are a URL.")
        server = attrs.evolve(server, headers={**server.headers, **self.headers})
        question = Question(server, origin, self.versions, self.timeout, say)
        click.get_current_context().meta[QUESTION] = question
        return question


def _sentence(error: LocalProtocolError) -> str:
    text = str(error)
    return text if text.endswith("?") else f"{text}."


def _usage(*names: str) -> str:
    """How the command that runs is told its server."""
    begin = click.get_current_context().command_path
    return f"write `{' '.join((begin, 'URL', *names))}` or `{' '.join((begin, *names))} -- python server.py`"


def _must_be_a_url(text: str) -> None:
    try:
        HttpUrl.parse(text)
    except LocalProtocolError as error:
        hint = "" if "://" in text else "; a command stands after --"
        raise click.UsageError(f"{error}{hint}.") from None


def _config(_context: click.Context, _parameter: click.Parameter, text: str | None) -> HostConfig | None:
    """The value of `--config`: a file, or the name of a host that has one at its usual place."""
    if text is None:
        return None
    interactive = sys.stdin.isatty() and sys.stderr.isatty()
    try:
        path = find_host_config(text) if text in HOSTS and not Path(text).exists() else Path(text)
        return read_host_config(path, ask=_answer if interactive else None)
    except HostConfigError as error:
        raise click.BadParameter(_sentence(error)) from None


def _answer(wanted: HostInput) -> str:
    """Ask the person for an input of a configuration."""
    answer: str = click.prompt(
        show.one_line(wanted.description),
        default=wanted.default,
        hide_input=wanted.password,
        show_default=not wanted.password,
        type=click.Choice(wanted.options) if wanted.options else str,
        err=True,
    )
    return answer


def _fields(_context: click.Context, _parameter: click.Parameter, lines: tuple[str, ...]) -> dict[str, str]:
    """The values of `--header`."""
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise click.BadParameter("a header is written as 'Name: value'.")
        if name.strip().lower() in (each.lower() for each in fields):
            raise click.BadParameter(f"{name.strip()!r} is given twice.")
        fields[name.strip()] = value.strip()
    return fields


def asking(function: F) -> F:
    """The options of every command that asks a server: it gets them as `asked`."""

    @click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="'NAME: VALUE'",
        callback=_fields,
        help="A header for every request to a URL; may be repeated.",
    )
    @click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for an answer.",
    )
    @click.option(
        "--config",
        metavar="FILE",
        callback=_config,
        help=f"A host's configuration file, or one of {', '.join(HOSTS)}; SERVER is a name in it.",
    )
    @revisions
    @functools.wraps(function)
    def call(
        *args: Any,
        headers: dict[str, str],
        timeout: float,
        config: HostConfig | None,
        versions: tuple[str, ...],
        **options: Any,
    ) -> Any:
        command: tuple[str, ...] | None = click.get_current_context().obj
        return function(*args, asked=Asking(config, headers, versions, timeout, command), **options)

    return call  # type: ignore[return-value]  # a command in place of a command


json_option = click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
