"""One prompt file: Markdown whose YAML front matter says how the prompt is listed.

    ---
    title: Review a pull request
    arguments:
      - name: url
        description: Where the pull request is
        required: true
    ---
    Review {{url}} …

`matter` reads the front matter and `fields` what it says, `turns` takes the body apart into messages,
`template` finds the places for arguments in them, `linked` reads the files that they show. Line ends become
newlines, the blank lines around a message are dropped. A field of the wrong form costs that field, a front
matter that cannot be read at all costs the front matter, and each is reported with its line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

import attrs

from mcp_sansio import ContentBlock, Prompt, PromptArgument, PromptMessage, Role, TextContent

from . import matter
from .fields import MAX_NAME, arguments_of, icons_of, is_name, name_of
from .linked import CannotShow, Linked
from .matter import Item
from .problem import Problem, Report, UnreadableFile
from .template import Template, Templates, fill
from .turns import Part, parts_of

MAX_FILE = 1024 * 1024
"""The largest prompt file, in bytes."""

_SUFFIXES = (".prompt.md", ".md")
_FENCED = re.compile(r"(?:```|~~~)[^\n]*\n---[ \t]*\n")


@attrs.frozen
class Message:
    """A message of a prompt: text to be filled in, or content as it is."""

    role: Role
    content: Template | ContentBlock

    def fill(self, values: dict[str, str]) -> PromptMessage:
        """The message with the values in it."""
        content = self.content
        return PromptMessage(
            self.role, TextContent(fill(content, values)) if isinstance(content, tuple) else content
        )


@attrs.frozen
class PromptFile:
    """What a file says. `sound` is false if its front matter could not be read and is missing here.

    `name_line` is the line of its name, if that is written in it.
    """

    prompt: Prompt
    messages: tuple[Message, ...]
    problems: tuple[Problem, ...] = ()
    sound: bool = True
    name_line: int = 1

    def render(self, /, **arguments: str) -> list[PromptMessage]:
        """The messages with the arguments filled in; an optional one without a value is empty."""
        return [message.fill(arguments) for message in self.messages]


def parse_file(file: str, raw: bytes, linked: Linked | None = None) -> PromptFile:
    """Read the file whose path in its folder is `file`, with `/`; raises `UnreadableFile`."""
    text = _decode(raw)
    front, body, first = matter.split(text)
    report = Report(file)
    folder, slash, base = file.rpartition("/")
    stem = unicodedata.normalize("NFC", folder + slash + stem_of(base))
    if not all(map(is_name, stem.split("/"))):
        raise UnreadableFile(f"rename it: names are printable and have at most {MAX_NAME} characters", 1)
    read = Item(None, "", report) if front is None else matter.load(front, report)
    fields = read or Item(None, "", report)
    if front is None and _FENCED.match(text):
        report.error(1, "the front matter is in a code fence and is not read: take the fence away")
    parts = parts_of(body, first, report)
    if not parts:
        raise UnreadableFile("there is no text for the prompt, only front matter or nothing", 1)
    written = arguments_of(fields, report)
    texts = [part.text for part in parts]
    hint = fields.raw("argument-hint")
    templates = Templates(texts, (argument for argument, _ in written.values()), hint)
    messages = _messages(parts, templates, linked or Linked(None, folder), report)
    if read is not None:
        _check(fields, written, templates, parts, report)
    parent, slash, stem = stem.rpartition("/")
    prompt = Prompt(
        name=parent + slash + name_of(fields, stem),
        title=fields.text("title"),
        description=fields.text("description"),
        arguments=tuple(templates.arguments.values()),
        icons=icons_of(fields, report),
    )
    return PromptFile(prompt, messages, report.problems(), read is not None, _name_line(fields))


def _name_line(fields: Item) -> int:
    return 1 if fields.node("name") is None else fields.at("name")


def is_prompt_file(base: str) -> bool:
    """Whether a file of this name holds a prompt."""
    return base.endswith(".md") and bool(stem_of(base)) and not base.startswith(".")


def stem_of(base: str) -> str:
    """What the file is called, without what says that it is a prompt."""
    suffix = next(suffix for suffix in _SUFFIXES if base.endswith(suffix))
    return base.removesuffix(suffix)


def _decode(raw: bytes) -> str:
    if len(raw) > MAX_FILE:
        raise UnreadableFile(f"the file has more than {MAX_FILE} bytes", 1)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UnreadableFile("the file is not UTF-8: save it in that encoding", line) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _messages(parts: list[Part], templates: Templates, linked: Linked, report: Report) -> tuple[Message, ...]:
    return tuple(
        Message(part.role, _shown(part, linked, report) or templates.parse(part.text, number))
        for number, part in enumerate(parts)
    )


def _shown(part: Part, linked: Linked, report: Report) -> ContentBlock | None:
    """The content of the file that a part links to; None for text."""
    if part.link is None:
        return None
    try:
        return linked.show(part.link)
    except CannotShow as reason:
        report.error(part.line, f"{part.link.address}: {reason}, so left as text")
        return None


def _check(
    fields: Item,
    written: dict[str, tuple[PromptArgument, int]],
    templates: Templates,
    parts: list[Part],
    report: Report,
) -> None:
    """Report what the text and the declared arguments say of each other."""
    for placeholder, line in _first(templates, parts):
        report.warning(line, f"{placeholder} names no declared argument, so left as it is")
    for name, (_, line) in written.items():
        if name not in templates.used:
            report.warning(
                line, f"arguments: {name}: is declared, but there is no {{{{{name}}}}} in the text"
            )
    if fields.raw("argument-hint") is not None and not templates.arguments:
        line = fields.at("argument-hint")
        report.warning(line, "argument-hint: is for $ARGUMENTS, which is not in the text")
    role = fields.raw("role")
    if role not in (None, "user"):
        line = fields.at("role")
        report.error(line, "role: is ignored: what the assistant says follows a line <!-- assistant -->")


def _first(templates: Templates, parts: Iterable[Part]) -> Iterator[tuple[str, int]]:
    """Every placeholder that names nothing, with the first line on which it stands."""
    lines = [part.line for part in parts]
    seen: set[str] = set()
    for placeholder, number, line in templates.strange:
        if placeholder not in seen:
            seen.add(placeholder)
            yield placeholder, lines[number] + line
