"""What stands for `${…}` in a host's configuration: the environment, a few places, and what a person says.

The ways in which hosts write variables do not clash, so all of them are read in every file: `${env:X}` of
Cursor and VS Code, `${X}` and `${X:-default}` of Claude Code, and what VS Code calls predefined variables and
inputs. Where nothing is known, that is an error: a server that gets an empty key, or the variable's name for
it, only fails later and with fewer words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from mcp_sansio._plain import is_array, is_object, text

VARIABLE = re.compile(r"\$\{([^}]*)\}")
OF_ENVIRONMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
KINDS = ("promptString", "pickString")

Json: TypeAlias = Mapping[str, Any]


@attrs.frozen
class HostInput:
    """Something that a configuration wants to know from the person who uses it (VS Code's `inputs`).

    `password`: what is typed is not to be shown. With `options`, it is one of these.
    """

    id: str
    description: str
    password: bool = False
    default: str | None = None
    options: tuple[str, ...] = ()


Ask: TypeAlias = Callable[[HostInput], str]
"""Asks the person."""


class UndefinedVariable(Exception):
    """Nothing is known to put in the place of a variable."""


class Variables:
    """Fills in variables. Every text is gone over once: what a value contains is never looked at."""

    def __init__(self, inputs: Any, folder: Path, environ: Mapping[str, str], ask: Ask | None) -> None:
        self._environ = environ
        self._ask = ask
        self._inputs = inputs_of(inputs)
        self._answers: dict[str, str] = {}
        self._places = {
            "workspaceFolder": str(folder),
            "workspaceFolderBasename": folder.name,
            "userHome": str(Path.home()),
            "pathSeparator": os.sep,
            "/": os.sep,
        }

    def fill(self, template: str) -> str:
        """A text with its variables filled in; raises `UndefinedVariable`."""
        return VARIABLE.sub(lambda match: self._value(match[1]), template)

    def _value(self, variable: str) -> str:
        if variable in self._places:
            return self._places[variable]
        if variable.startswith("input:"):
            return self._answer(variable.removeprefix("input:"))
        match = OF_ENVIRONMENT.fullmatch(variable.removeprefix("env:"))
        if match is None:
            raise UndefinedVariable(f"${{{variable}}} means nothing here; write its value in its place")
        return self._from_environment(*match.groups())

    def _from_environment(self, name: str, default: str | None) -> str:
        if default is not None and "${" in default:
            raise UndefinedVariable(f"the default of {name} has a variable in it; write its value")
        value = self._environ.get(name, default)
        if value is None:
            raise UndefinedVariable(f"{name} is not set; set it, or write ${{{name}:-a default}}")
        return value

    def _answer(self, key: str) -> str:
        """What the person says, who is asked once."""
        wanted = self._inputs.get(key)
        if wanted is None:
            raise UndefinedVariable(f'there is no input {key!r}; add it to "inputs", or write its value')
        if key not in self._answers:
            if self._ask is None:
                raise UndefinedVariable(f"nobody can be asked for {key!r}; write ${{env:NAME}} and set NAME")
            self._answers[key] = self._ask(wanted)
        return self._answers[key]


def inputs_of(raw: Any) -> dict[str, HostInput]:
    """The inputs that a person can be asked for; what they have in them that is no text is left out."""
    wanted = [as_object(each) for each in as_array(raw)]
    return {
        each["id"]: _input(each)
        for each in wanted
        if isinstance(each.get("id"), str) and each.get("type") in KINDS
    }


def as_object(value: Any) -> Json:
    """A JSON object; an empty one in the place of anything else."""
    return value if is_object(value) else {}


def as_array(value: Any) -> list[Any]:
    """A JSON array; an empty one in the place of anything else."""
    return value if is_array(value) else []


def _input(wanted: Json) -> HostInput:
    choices = as_array(wanted.get("options")) if wanted["type"] == "pickString" else []
    values = [as_object(choice).get("value", choice) for choice in choices]
    return HostInput(
        wanted["id"],
        text(wanted.get("description")) or wanted["id"],
        password=wanted.get("password") is True,
        default=text(wanted.get("default")),
        options=tuple(value for value in values if isinstance(value, str)),
    )
