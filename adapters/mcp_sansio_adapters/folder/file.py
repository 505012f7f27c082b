"""One prompt file: Markdown whose YAML front matter says how the prompt is listed.

    ---
    title: Review a pull request
    arguments:
      - name: url
        description: Where the pull request is
        required: true
    ---
    Review {{url}} …

The body is the text of the one user message that the prompt makes. An argument stands in it as
`{{name}}`, and all of them are filled in by one pass over the text: a value is never looked at again, and
whatever names no argument stays as it is written. Line ends become newlines, the blank lines around the
body are dropped. A field of the wrong form costs that field and is reported with its line; a front matter
that cannot be read at all costs the front matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar

import attrs
import msgspec
import yaml

from mcp_sansio import Icon, Prompt, PromptArgument

MAX_FILE = 1024 * 1024
"""The largest prompt file, in bytes."""

MAX_NAME = 128
T = TypeVar("T")
_SUFFIXES = (".prompt.md", ".md")
_PLACEHOLDER = re.compile(r"\{\{([^{}\n]*)\}\}")
_FENCED = re.compile(r"(`{3,}|~{3,})[^\n]*\n---[ \t]*\n")
_QUOTE = "text with a colon, #, or one of @ ` * & ! % [ { at its start belongs in 'single quotes'"


@attrs.frozen
class Problem:
    """Something wrong with a file. `line` counts from 1; None where it is about the whole file."""

    file: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        return f"{self.file if self.line is None else f'{self.file}:{self.line}'}: {self.reason}"


class UnreadableFile(Exception):
    """A file that makes no prompt at all."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@attrs.frozen
class PromptFile:
    """What a file says. `sound` is false if its front matter could not be read and is missing here."""

    prompt: Prompt
    body: str
    problems: tuple[Problem, ...] = ()
    sound: bool = True

    def render(self, /, **arguments: str) -> str:
        """The body with the arguments filled in; an optional one without a value is empty."""
        declared = {argument.name for argument in self.prompt.arguments}

        def fill(match: re.Match[str]) -> str:
            name = match[1].strip(" \t")
            return arguments.get(name, "") if name in declared else match[0]

        return _PLACEHOLDER.sub(fill, self.body)


def parse_file(file: str, raw: bytes) -> PromptFile:
    """Read the file whose path in its folder is `file`, with `/`; raises `UnreadableFile`."""
    text = _decode(raw)
    matter, body = _split(text)
    body = body.strip("\n")
    if not body.strip():
        raise UnreadableFile("there is no text for the prompt, only front matter or nothing")
    folder, slash, base = file.rpartition("/")
    stem = _stem(base)
    if matter is None:
        problems = _fenced(file, text)
        return PromptFile(Prompt(folder + slash + stem), body, (*problems, *_mismatched(file, body, ())))
    fields = _Fields(file)
    fields.load(matter)
    fields.check_role()
    prompt = Prompt(
        name=folder + slash + fields.name(stem),
        title=fields.text("title"),
        description=fields.text("description"),
        arguments=fields.arguments(),
        icons=fields.icons(),
    )
    problems = (*fields.problems, *_mismatched(file, body, prompt.arguments))
    return PromptFile(prompt, body, problems, fields.sound)


def is_prompt_file(base: str) -> bool:
    """Whether a file of this name holds a prompt."""
    return base.endswith(".md") and bool(_stem(base)) and not base.startswith(".")


def _stem(base: str) -> str:
    suffix = next(suffix for suffix in _SUFFIXES if base.endswith(suffix))
    return base.removesuffix(suffix)


def _decode(raw: bytes) -> str:
    if len(raw) > MAX_FILE:
        raise UnreadableFile(f"the file has more than {MAX_FILE} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UnreadableFile("the file is not UTF-8: save it in that encoding", line) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _split(text: str) -> tuple[str | None, str]:
    """The front matter, if the first line opens one, and the rest; the next `---` closes it."""
    first, *lines = text.split("\n")
    if first.rstrip(" \t") != "---":
        return None, text
    for index, line in enumerate(lines):
        if line.rstrip(" \t") == "---":
            return "\n".join(lines[:index]), "\n".join(lines[index + 1 :])
    raise UnreadableFile("the front matter never ends: close it with a line ---", 1)


def _fenced(file: str, text: str) -> tuple[Problem, ...]:
    if not _FENCED.match(text):
        return ()
    return (Problem(file, 1, "the front matter is in a code fence and is not read: take the fence away"),)


def _mismatched(file: str, body: str, arguments: tuple[PromptArgument, ...]) -> Iterator[Problem]:
    """What the text and the declared arguments say of each other."""
    declared = {argument.name: None for argument in arguments}
    names = dict.fromkeys(match[1].strip(" \t") for match in _PLACEHOLDER.finditer(body))
    strange = [f"{{{{{name}}}}}" for name in names if name not in declared]
    if strange:
        yield Problem(file, None, f"no declared argument, so left as it is: {', '.join(strange)}")
    unused = [f"{{{{{name}}}}}" for name in declared if name not in names]
    if unused:
        yield Problem(file, None, f"declared as an argument, but not in the text: {', '.join(unused)}")


def _is_name(name: str) -> bool:
    """What a prompt may be called: something that can be seen, and that says nothing about folders."""
    plain = name.isprintable() and name == name.strip() and "/" not in name and "\\" not in name
    return plain and 1 <= len(name) <= MAX_NAME


class _Argument(msgspec.Struct):
    """An argument as it is written."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    title: str | None = None
    description: str | None = None
    required: bool | None = None


class _Icon(msgspec.Struct, rename="camel"):
    """An icon as it is written."""

    src: Annotated[str, msgspec.Meta(min_length=1)]
    mime_type: str | None = None
    sizes: str | list[str] | None = None
    theme: Literal["light", "dark"] | None = None


class _Fields:
    """A front matter, field by field; what has the wrong form is reported and left out."""

    def __init__(self, file: str) -> None:
        self.problems: list[Problem] = []
        self.sound = True
        self._file = file
        self._values: Mapping[Any, Any] = {}
        self._lines: dict[Any, int] = {}

    def load(self, matter: str) -> None:
        """Read the YAML. Its first line is the second one of the file."""
        try:
            values, self._lines = _yaml(matter)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
            self._unsound(2 if mark is None else mark.line + 2, f"is not YAML: {_reason(error)}; {_QUOTE}")
            return
        try:
            self._values = msgspec.convert(values, dict[Any, Any])
        except msgspec.ValidationError:
            self._unsound(2, "has no fields: write `description: …`, one a line")

    def name(self, stem: str) -> str:
        """The name within the folder: what the file says, or what the file is called."""
        name = self.text("name")
        if name is None:
            return stem
        if not _is_name(name):
            self._report("name", f"must be printable, without / or \\, and at most {MAX_NAME} characters")
            return stem
        return name

    def text(self, key: str) -> str | None:
        """A field that is text; one without a value is absent."""
        value: object = self._values.get(key)
        if value is None or isinstance(value, str):
            return value or None
        self._report(key, f"must be text, but YAML reads a {type(value).__name__}: put it in quotes")
        return None

    def check_role(self) -> None:
        """Report a role that is not the user's: the text would not be what its author takes it for."""
        if self._values.get("role") not in (None, "user"):
            self._report("role", "is ignored: the text is a message of the user")

    def arguments(self) -> tuple[PromptArgument, ...]:
        """The arguments, in the order in which they are written."""
        made: dict[str, PromptArgument] = {}
        for written in self._items("arguments", _Argument):
            if written.name in made:
                self._report("arguments", f"there are two called {written.name!r}")
            else:
                made[written.name] = PromptArgument(
                    written.name, written.title, written.description, written.required
                )
        return tuple(made.values())

    def icons(self) -> tuple[Icon, ...]:
        """The icons, in the order in which they are written."""
        made: list[Icon] = []
        for written in self._items("icons", _Icon):
            sizes = (written.sizes,) if isinstance(written.sizes, str) else tuple(written.sizes or ())
            made.append(Icon(written.src, written.mime_type, sizes, written.theme))
        return tuple(made)

    def _items(self, key: str, kind: type[T]) -> Iterator[T]:
        for item in self._convert(key, self._values.get(key) or [], list[Any]) or ():
            made = self._convert(key, item, kind)
            if made is not None:
                yield made

    def _convert(self, key: str, value: object, kind: type[T]) -> T | None:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            self._report(key, str(error).replace("`", ""))
            return None

    def _report(self, key: str, reason: str) -> None:
        self.problems.append(Problem(self._file, self._lines.get(key, 1), f"{key}: {reason}"))

    def _unsound(self, line: int, reason: str) -> None:
        self.sound = False
        self.problems.append(Problem(self._file, line, f"the front matter {reason}"))


def _yaml(matter: str) -> tuple[object, dict[Any, int]]:
    """The value, and the line in the file on which each field of it stands."""
    loader: Any = yaml.SafeLoader(matter)
    node = loader.get_single_node()
    if node is None:
        return {}, {}
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return loader.construct_document(node), {key.value: key.start_mark.line + 2 for key, _ in pairs}


def _reason(error: Exception) -> str:
    """One line of what YAML has to say."""
    problem = error.problem if isinstance(error, yaml.MarkedYAMLError) else None
    return problem or str(error).partition("\n")[0] or type(error).__name__
