"""How the function of a prompt is called, and what its signature and docstring say of the prompt.

Everything is found out once, not by each request. `describe` reads a function that is to be a prompt by
itself: its parameters are the arguments, and what they are annotated with says how the texts of the client
are converted. `signature_of` reads the function of a prompt that is defined apart from it: that gets texts,
so many of them as it takes.

A parameter named `asked` is no argument: it gets the `PromptRequested`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, get_type_hints

import attrs

from ._conversion import ANNOTATIONS, TEXT, Converter, converter_of, notes_of
from ._docstring import argument_texts, first_paragraph
from ._errors import LocalProtocolError
from ._plain import shown
from ._types import PromptArgument

ASKED = "asked"

_BY_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_NO_ARGUMENT = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional only: take away the / behind it",
    inspect.Parameter.VAR_POSITIONAL: "stands for any number of arguments: name those that there are",
    inspect.Parameter.VAR_KEYWORD: "stands for any arguments: name those that there are",
}


class Unconvertible(Exception):
    """A text that stands for no value of its parameter; the message says so to the client."""


@attrs.frozen
class Parameter:
    """What an argument is given to."""

    keyword: str
    converter: Converter


@attrs.frozen
class Signature:
    """How a function is called: `parameters` are by the name of the argument. With `rest`, any other
    argument is given to it as it is.
    """

    parameters: Mapping[str, Parameter]
    rest: bool = False
    takes_asked: bool = False
    asynchronous: bool = False

    def values(self, arguments: Mapping[str, str]) -> dict[str, Any]:
        """What the function gets, by keyword. Raises `Unconvertible`."""
        values: dict[str, Any] = dict(arguments) if self.rest else {}
        for name, text in arguments.items():
            parameter = self.parameters.get(name)
            if parameter is not None:
                values[parameter.keyword] = _converted(name, text, parameter.converter)
        return values


@attrs.frozen
class Description:
    """A prompt as its function describes it. `values` are those that an argument can have, where they can
    be counted.
    """

    name: str
    description: str | None
    arguments: tuple[PromptArgument, ...]
    values: Mapping[str, tuple[str, ...]]
    signature: Signature


def signature_of(function: Callable[..., Any]) -> Signature:
    """How to call the function of a prompt that is defined apart from it."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of some built-in functions nobody knows the signature
        return Signature({}, rest=True)
    taken = [each.name for each in parameters if each.kind in _BY_KEYWORD]
    return Signature(
        {name: Parameter(name, TEXT) for name in taken},
        rest=any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters),
        takes_asked=ASKED in taken,
        asynchronous=is_asynchronous(function),
    )


def describe(function: Callable[..., Any], name: str | None = None) -> Description:
    """Read a function that is to be a prompt, of its own name or this one.

    Raises `LocalProtocolError`, naming the prompt and the parameter, for what no client could call.
    """
    within = _within(function)
    name = _name(within) if name is None else name
    docstring = inspect.getdoc(within) or ""
    said = argument_texts(docstring)
    arguments: list[PromptArgument] = []
    parameters: dict[str, Parameter] = {}
    for parameter, annotation in _annotated(name, function):
        converter = converter_of(annotation)
        if converter is None:
            raise LocalProtocolError(
                f"prompt {shown(name)}: parameter {parameter.name!r} is annotated with {shown(annotation)}, "
                f"which no text of a client is made into: take {ANNOTATIONS}"
            )
        arguments.append(_argument(parameter, annotation, said.get(parameter.name)))
        parameters[arguments[-1].name] = Parameter(parameter.name, converter)
    values = {each: of.converter.values for each, of in parameters.items() if of.converter.values}
    takes_asked = ASKED in inspect.signature(function).parameters
    signature = Signature(parameters, takes_asked=takes_asked, asynchronous=is_asynchronous(function))
    return Description(name, first_paragraph(docstring), tuple(arguments), values, signature)


def _converted(name: str, text: str, converter: Converter) -> Any:
    try:
        return converter.convert(text)
    except ValueError:
        reason = f"arguments.{name}: must be {converter.expected}, not {shown(text)}"
        raise Unconvertible(reason) from None


# --- reading functions --------------------------------------------------------------------------------


def _within(function: object) -> Callable[..., Any]:
    """The function that has a name, a docstring and globals: inside a partial, or behind an object."""
    while isinstance(function, partial):
        inner: Callable[..., Any] = function.func
        function = inner
    if isinstance(function, type) or not callable(function):
        raise LocalProtocolError(
            f"a prompt is made of a function, not of {shown(function)}; a name goes by keyword: name=…"
        )
    return function if hasattr(function, "__name__") else function.__call__


def _name(within: Callable[..., Any]) -> str:
    name = getattr(within, "__name__", "")
    if not name.isidentifier() or name == "__call__":
        raise LocalProtocolError(f"a prompt needs a name, and {shown(within)} has none of its own: name=…")
    return str(name)


def is_asynchronous(function: object) -> bool:
    """Whether calling it gives an awaitable at once, so that a call takes no time."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  # it is the method that is looked at
    )


def _annotated(name: str, function: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, object]]:
    """The parameters that are arguments, with their annotations; a partial has given some already."""
    given: Mapping[str, Any] = getattr(function, "keywords", {})
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.name in given or parameter.name == ASKED:
            continue
        what = f"prompt {shown(name)}: parameter {parameter.name!r}"
        if position == 0 and parameter.name in ("self", "cls") and parameter.annotation is parameter.empty:
            raise LocalProtocolError(f"{what} is that of a method: make a prompt of an object's own method")
        if parameter.kind in _NO_ARGUMENT:
            raise LocalProtocolError(f"{what} {_NO_ARGUMENT[parameter.kind]}")
        yield parameter, _annotation(what, function, parameter)


def _annotation(what: str, function: Callable[..., Any], parameter: inspect.Parameter) -> object:
    """The annotation, evaluated by itself, for that of another parameter may stand for nothing here."""
    if parameter.annotation is parameter.empty:
        return str
    names = getattr(inspect.unwrap(_within(function)), "__globals__", {})
    holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    try:
        return get_type_hints(holder, names, include_extras=True)[parameter.name]
    except Exception as error:
        raise LocalProtocolError(
            f"{what} is annotated with {parameter.annotation!r}, which cannot be evaluated ({error}): "
            "let it name what the module has when the prompt is defined"
        ) from error


def _argument(parameter: inspect.Parameter, annotation: object, said: str | None) -> PromptArgument:
    """The argument of a parameter: what it is annotated with says more than the docstring."""
    argument = PromptArgument(parameter.name)
    for note in notes_of(annotation):
        if isinstance(note, PromptArgument):
            argument = note
            break
        if isinstance(note, str):
            argument = PromptArgument(parameter.name, description=note)
            break
    description = (said or None) if argument.description is None else argument.description
    required = parameter.default is parameter.empty
    return attrs.evolve(argument, description=description, required=required)
