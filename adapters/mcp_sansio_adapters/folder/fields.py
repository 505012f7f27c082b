"""What a front matter says of a prompt: its name, its arguments, its icons.

Arguments are written as people write them: a list of mappings with a `name`, a list of bare names, or a
mapping from names to descriptions or to mappings.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Literal

import yaml

from mcp_sansio import Icon, PromptArgument

from .matter import Item, line_of, scalar
from .problem import Report

MAX_NAME = 128
_THEMES: Mapping[str, Literal["light", "dark"]] = {"light": "light", "dark": "dark"}


def is_name(name: str) -> bool:
    """What a prompt may be called: something that can be seen, and that says nothing about folders."""
    plain = name.isprintable() and name == name.strip() and "/" not in name and "\\" not in name
    return plain and 1 <= len(name) <= MAX_NAME


def name_of(item: Item, stem: str) -> str:
    """The name within the folder: what the file says, or what the file is called."""
    name = unicodedata.normalize("NFC", item.text("name") or "")
    if name and not is_name(name):
        item.report("name", f"must be printable, without / or \\, and at most {MAX_NAME} characters")
        return stem
    return name or stem


def arguments_of(item: Item, report: Report) -> dict[str, tuple[PromptArgument, int]]:
    """The arguments by name, in the order in which they are written, with their lines."""
    made: dict[str, tuple[PromptArgument, int]] = {}
    for argument, line in _arguments(item, report):
        if not argument.name:
            report.error(line, "arguments: one has no name: write `- name: …`")
        elif argument.name in made:
            report.error(line, f"arguments: there are two called {argument.name!r}")
        else:
            made[argument.name] = argument, line
    return made


def icons_of(item: Item, report: Report) -> tuple[Icon, ...]:
    """The icons, in the order in which they are written."""
    return tuple(icon for node in _items(item, "icons") if (icon := _icon(node, report)) is not None)


def _arguments(item: Item, report: Report) -> Iterator[tuple[PromptArgument, int]]:
    node = item.node("arguments")
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if (name := scalar(key, "arguments", report)) is not None:
                yield _named(name, value, report), line_of(key)
        return
    for each in _items(item, "arguments"):
        if isinstance(each, yaml.MappingNode):
            fields = Item(each, "arguments: ", report)
            name, written = fields.text("name"), fields.node("name")
            if name or written is None or not written.value:
                yield _argument(name or "", fields), fields.line
        elif (name := scalar(each, "arguments", report)) is not None:
            yield PromptArgument(name), line_of(each)


def _named(name: str, value: yaml.Node, report: Report) -> PromptArgument:
    """An argument of a mapping: its name, and what stands after the colon."""
    if isinstance(value, yaml.MappingNode):
        return _argument(name, Item(value, f"arguments: {name}: ", report))
    if value.tag.endswith(":null"):
        return PromptArgument(name)
    return PromptArgument(name, description=scalar(value, f"arguments: {name}", report))


def _argument(name: str, fields: Item) -> PromptArgument:
    return PromptArgument(name, fields.text("title"), fields.text("description"), fields.flag("required"))


def _icon(node: yaml.Node, report: Report) -> Icon | None:
    if not isinstance(node, yaml.MappingNode):
        report.error(line_of(node), "icons: must be mappings: write `- src: …`")
        return None
    fields = Item(node, "icons: ", report)
    src, theme = fields.text("src"), fields.text("theme")
    if src is None:
        report.error(fields.line, "icons: one has no src, which says where the image is")
        return None
    if theme is not None and theme not in _THEMES:
        fields.report("theme", "must be light or dark")
    sizes = tuple(_sizes(fields, report))
    return Icon(src, fields.text("mimeType"), sizes, _THEMES.get(theme or ""))


def _sizes(fields: Item, report: Report) -> Iterator[str]:
    node = fields.node("sizes")
    for each in node.value if isinstance(node, yaml.SequenceNode) else [] if node is None else [node]:
        if (size := scalar(each, "icons: sizes", report)) is not None:
            yield size


def _items(item: Item, key: str) -> list[yaml.Node]:
    node = item.node(key)
    if isinstance(node, yaml.SequenceNode):
        return [*node.value]
    if node is not None:
        item.report(key, "must be a list: write each on a line of its own, after a -")
    return []
