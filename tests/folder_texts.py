"""Prompt files as text: what is read of one, and what it renders to."""

from mcp_sansio import PromptMessage, TextContent
from mcp_sansio_adapters.folder.file import PromptFile, parse_file


def parse(text: str, file: str = "greet.md") -> PromptFile:
    return parse_file(file, text.encode())


def problems(text: str) -> list[str]:
    return [str(problem) for problem in parse(text).problems]


def body(parsed: PromptFile, /, **values: str) -> str:
    """The text of the one message of a prompt, which is the user's."""
    return text_of(parsed.render(**values))


def text_of(messages: object) -> str:
    assert isinstance(messages, list)
    (message,) = messages
    assert isinstance(message, PromptMessage)
    assert isinstance(message.content, TextContent)
    assert message.role == "user"
    return message.content.text
