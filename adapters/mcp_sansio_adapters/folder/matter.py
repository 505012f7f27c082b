"""The front matter of a prompt file: YAML, read as nodes that know their lines.

Nothing is constructed from the YAML and nothing is coerced: a value that is no text where text belongs is
reported with its line, and whatever nobody asks for stays unread, whoever it is meant for. Aliases are
refused, for a few lines of them can stand for gigabytes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.reader import ReaderError

from .problem import Report, UnreadableFile

MAX_MATTER = 64 * 1024
"""The longest front matter, in characters."""

FIELDS = ("name", "title", "description", "arguments", "argument-hint", "icons")
_OTHERS = frozenset({"names", "titles"})
_TAG = "tag:yaml.org,2002:"
_QUOTE = (
    "text with a colon, #, or one of @ ` * & ! % [ { at its start belongs in 'single quotes', "
    "and a ' in it is written twice"
)


def split(text: str) -> tuple[str | None, str, int]:
    """The front matter, if the first line opens one, the rest, and the line on which the rest begins."""
    first, *lines = text.split("\n")
    if first.rstrip(" \t") != "---":
        return None, text, 1
    for index, line in enumerate(lines):
        if line.rstrip(" \t") == "---":
            return "\n".join(lines[:index]), "\n".join(lines[index + 1 :]), index + 3
    raise UnreadableFile("the front matter never ends: close it with a line ---", 1)


class _Loader(yaml.SafeLoader):
    """Composes nodes, none of them twice."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """The next node."""
        if self.check_event(yaml.AliasEvent):
            events: Any = self
            mark: Any = events.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem="aliases (*name) are not read", problem_mark=mark)
        return super().compose_node(parent, index)


class Item:
    """A mapping in a front matter. What has the wrong form is reported and counts as absent."""

    def __init__(self, node: yaml.MappingNode | None, label: str, report: Report, source: str = "") -> None:
        self.line = 2 if node is None else line_of(node)
        self._label = label
        self._report = report
        self._source = source
        self._nodes: dict[str, yaml.Node] = {}
        self._lines: dict[str, int] = {}
        pairs: list[tuple[yaml.Node, yaml.Node]] = [] if node is None else node.value
        for key, value in pairs:
            if isinstance(key, yaml.ScalarNode):
                if key.value in self._nodes:
                    report.warning(line_of(key), f"{label}{key.value}: stands twice, and the last one counts")
                self._nodes[key.value] = value
                self._lines[key.value] = line_of(key)

    def node(self, key: str) -> yaml.Node | None:
        """The value of a field; None if it is absent or empty."""
        node = self._nodes.get(key)
        return None if node is None or node.tag == _TAG + "null" else node

    def at(self, key: str) -> int:
        """The line of a field, or else of the whole."""
        return self._lines.get(key, self.line)

    def lines(self) -> Iterator[tuple[str, int]]:
        """The fields, with their lines."""
        return iter(self._lines.items())

    def text(self, key: str) -> str | None:
        """A field that is text."""
        node = self.node(key)
        value = None if node is None else scalar(node, self._label + key, self._report)
        if isinstance(node, yaml.ScalarNode):
            self._check_cut(key, node)
        return value or None

    def flag(self, key: str) -> bool | None:
        """A field that is true or false."""
        node = self.node(key)
        if node is None:
            return None
        if node.tag == _TAG + "bool":
            return yaml.SafeLoader.bool_values[node.value.lower()]
        self._report.error(line_of(node), f"{self._label}{key}: must be true or false, without quotes")
        return None

    def raw(self, key: str) -> str | None:
        """A field as it is written, whatever YAML takes it for, but without the quotes of a text."""
        node = self.node(key)
        if node is None:
            return None
        if isinstance(node, yaml.ScalarNode):
            return str(node.value)
        return " ".join(self._source[node.start_mark.index : node.end_mark.index].split())

    def report(self, key: str, reason: str) -> None:
        """Report a field."""
        self._report.error(self.at(key), f"{self._label}{key}: {reason}")

    def _check_cut(self, key: str, node: yaml.ScalarNode) -> None:
        """YAML takes a # after a space for a comment; with a space after it, it probably is one."""
        rest = self._source[node.end_mark.index : node.end_mark.index + 2000].partition("\n")[0]
        if node.style is None and re.match(r"[ \t]+#\w", rest):
            reason = f"{self._label}{key}: is cut off before the #: put it in 'single quotes'"
            self._report.warning(line_of(node), reason)


def load(matter: str, report: Report) -> Item | None:
    """The fields of a front matter, whose first line is the file's second; None if it cannot be read."""
    if len(matter) > MAX_MATTER:
        report.error(2, f"the front matter has more than {MAX_MATTER} characters: close it with a line ---")
        return None
    try:
        node = _Loader(matter).get_single_node()
    except (yaml.YAMLError, RecursionError) as error:
        line = _line(error, matter)
        advice = _advice(matter.split("\n")[line - 1])
        report.error(line + 1, f"the front matter is not YAML: {_reason(error)}; {advice}")
        return None
    if node is not None and not isinstance(node, yaml.MappingNode):
        line = line_of(node)
        advice = _advice(matter.split("\n")[line - 2])
        report.error(line, f"the front matter has no fields: write `description: …`, one a line; {advice}")
        return None
    item = Item(node, "", report, matter)
    _check_keys(item, report)
    return item


def _check_keys(item: Item, report: Report) -> None:
    """Report what looks like one of our fields, misspelt. All other fields are somebody else's."""
    for key, line in item.lines():
        close = difflib.get_close_matches(key[:40].lower(), FIELDS, 1, 0.8)
        if close and key not in FIELDS and key not in _OTHERS:
            report.warning(line, f"{key}: is not a field of a prompt; did you mean {close[0]}?")


def line_of(node: yaml.Node) -> int:
    """The line of the file on which a node of the front matter begins."""
    return int(node.start_mark.line) + 2


def scalar(node: yaml.Node, label: str, report: Report) -> str | None:
    """The text that a node is; what YAML takes for something else is reported."""
    kind = node.tag.removeprefix(_TAG)
    if isinstance(node, yaml.ScalarNode) and kind == "str":
        return str(node.value)
    report.error(line_of(node), f"{label}: must be text, but YAML reads a {kind}: put it in 'single quotes'")
    return None


def _advice(line: str) -> str:
    if "\u00a0" in line:
        return "there is a no-break space in that line, where a plain one belongs"
    if "\t" in line:
        return "indent with spaces, not with tabs"
    if not line.isprintable():
        return "there is a control character in that line: take it out"
    return _QUOTE


def _line(error: Exception, matter: str) -> int:
    """The line of the front matter on which YAML gives up; its first where YAML does not say."""
    if isinstance(error, ReaderError):
        return matter.count("\n", 0, error.position) + 1
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return 1 if mark is None else int(mark.line) + 1


def _reason(error: Exception) -> str:
    """One line of what YAML has to say."""
    problem = error.problem if isinstance(error, yaml.MarkedYAMLError) else None
    return problem or str(error).partition("\n")[0] or type(error).__name__
