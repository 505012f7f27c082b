"""Fills in the forms of servers on a terminal: what a prompt wants to know before it can be rendered.

A form is asked for field by field, as its schema has them (client/elicitation: strings, numbers, booleans
and choices). A default is there to be taken or changed, an empty answer leaves an optional field out, and
what the schema forbids is not taken. Ctrl-D declines the form, Ctrl-C gives the prompt up.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import attrs
import click
from prompt_toolkit.validation import Validator

from mcp_sansio._plain import is_array, is_object, member, text

from .asking import ask, labelled, one_of
from .show import one_line

YES, NO = ("yes", "y", "true"), ("no", "n", "false")


async def answer(params: Mapping[str, Any]) -> dict[str, Any]:
    """The result of one `elicitation/create`. What is no form is declined; `click.Abort` is for Ctrl-C."""
    schema = params.get("requestedSchema")
    if params.get("mode", "form") != "form" or not is_object(schema):
        return {"action": "decline"}
    click.echo(one_line(text(params.get("message")) or "The server asks:"), err=True)
    content: dict[str, Any] = {}
    try:
        for field in fields_of(schema):
            typed = await ask(
                labelled(field.name, field.purpose),
                default=field.default,
                completer=one_of(field.choices) if field.choices else None,
                validator=Validator.from_callable(field.takes, field.hint, move_cursor_to_end=True),
            )
            if typed or field.is_plain_text:
                content[field.key] = field.value(typed)
    except EOFError:
        return {"action": "decline"}
    return {"action": "accept", "content": content}


@attrs.frozen
class Field:
    """One field of a form."""

    key: str
    schema: Mapping[str, Any]
    required: bool

    @property
    def kind(self) -> str:
        """Its type in the schema."""
        return text(self.schema.get("type")) or "string"

    @property
    def name(self) -> str:
        """What to call it."""
        return text(self.schema.get("title")) or self.key

    @property
    def purpose(self) -> str:
        """What it is for, and what it takes."""
        hints = (text(self.schema.get("description")), self.hint, None if self.required else "optional")
        return "; ".join(hint for hint in hints if hint)

    @property
    def choices(self) -> tuple[str, ...]:
        """The values among which to choose, if they are given."""
        if self.kind == "boolean":
            return (YES[0], NO[0])
        holder = self.schema.get("items") if self.kind == "array" else self.schema
        plain = member(holder, "enum")
        titled = member(holder, "anyOf" if self.kind == "array" else "oneOf")
        values = plain if is_array(plain) else [member(each, "const") for each in titled or ()]
        return tuple(value for value in values if isinstance(value, str))

    @property
    def hint(self) -> str:
        """What it takes."""
        if self.kind == "array":
            return f"any of {', '.join(self.choices)}, with commas between them"
        if self.choices:
            return " or ".join(self.choices)
        if self.kind in ("integer", "number"):
            return f"a number{self._between('minimum', 'maximum')}"
        size = self._between("minLength", "maxLength")
        return f"text of a length{size}" if size else ""

    @property
    def default(self) -> str:
        """What stands there before anything is typed."""
        value = self.schema.get("default")
        if isinstance(value, bool):
            return YES[0] if value else NO[0]
        if is_array(value):
            return ", ".join(each for each in value if isinstance(each, str))
        return value if isinstance(value, str) else "" if value is None else json.dumps(value)

    @property
    def is_plain_text(self) -> bool:
        """Whether an empty answer is a value, too."""
        return self.required and self.kind == "string" and not self.choices

    def takes(self, typed: str) -> bool:
        """Whether an answer will do."""
        if not typed and not self.required:
            return True
        try:
            self.value(typed)
        except ValueError:
            return False
        return True

    def value(self, typed: str) -> Any:
        """The value that an answer means; raises `ValueError` if the schema forbids it."""
        match self.kind:
            case "boolean":
                return self._truth(typed.strip().lower())
            case "integer":
                return self._within("minimum", "maximum", int(typed))
            case "number":
                return self._within("minimum", "maximum", float(typed))
            case "array":
                return self._several([part.strip() for part in typed.split(",") if part.strip()])
            case _:
                if self.choices and typed not in self.choices:
                    raise ValueError(typed)
                self._within("minLength", "maxLength", len(typed))
                return typed

    def _truth(self, word: str) -> bool:
        if word not in YES + NO:
            raise ValueError(word)
        return word in YES

    def _several(self, words: list[str]) -> list[str]:
        if any(word not in self.choices for word in words):
            raise ValueError(words)
        self._within("minItems", "maxItems", len(words))
        return words

    def _within(self, lower: str, upper: str, number: float) -> float:
        least, most = self._limit(lower, -math.inf), self._limit(upper, math.inf)
        if not least <= number <= most or abs(number) == math.inf:
            raise ValueError(number)
        return number

    def _limit(self, key: str, otherwise: float) -> float:
        value = self.schema.get(key)
        return otherwise if isinstance(value, bool) or not isinstance(value, int | float) else value

    def _between(self, lower: str, upper: str) -> str:
        least, most = self._limit(lower, -math.inf), self._limit(upper, math.inf)
        above = "" if least == -math.inf else f" from {least:g}"
        return above + ("" if most == math.inf else f" up to {most:g}")


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """The fields of a form, in their order."""
    properties, required = schema.get("properties"), schema.get("required")
    wanted = required if is_array(required) else []
    if not is_object(properties):
        return []
    return [Field(key, each, key in wanted) for key, each in properties.items() if is_object(each)]
