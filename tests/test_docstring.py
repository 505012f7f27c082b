"""What a docstring says of a prompt and its arguments."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_sansio import Entry

WHOLE = """Review a change
    thoroughly.

    More of it.

    Args:
        change: the change
            as a diff

        depth (int): how deep
        mood:

    Returns:
        nobody: cares
    """


def described(docstring: str | None) -> tuple[str | None, list[str | None]]:
    def function(change: Any, depth: Any, mood: Any) -> None:
        pass

    function.__annotations__ = {}
    function.__doc__ = docstring
    prompt = Entry.of(function).prompt
    return prompt.description, [each.description for each in prompt.arguments]


@pytest.mark.parametrize(
    ("docstring", "description", "arguments"),
    [
        (None, None, [None] * 3),
        ("", None, [None] * 3),
        (WHOLE, "Review a change thoroughly.", ["the change as a diff", "how deep", None]),
        ("\n    Args:\n        mood: how\n    ", None, [None, None, "how"]),
        ("One.\n\nArguments:\n    what is this\n    mood: how", "One.", [None, None, "how"]),
        ("One.\nArgs: change: x", "One. Args: change: x", [None] * 3),
    ],
)
def test_a_docstring_is_read(docstring: str | None, description: str | None, arguments: list[Any]) -> None:
    assert described(docstring) == (description, arguments)
