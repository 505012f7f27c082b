"""The work that every contestant does, and the answer that it must come to.

All contestants get the same prompts, 100 of which are some 55 kB of JSON, and the same text to render, from
here; the one that is written in TypeScript has a copy. What a client has seen at the end is boiled down to
plain lists, the same for everybody, and compared by digest with what it must be: an answer that is not right
is not measured. This file is read by the processes of the peers, so it uses the standard library only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

EDITED = 7
"""The prompt that changes."""
ARGUMENTS = {"change": "diff --git a b", "focus": "speed"}
TEXT = "Please review this change with a focus on {focus}: {change}" + " Be kind." * 8


def name(number: int) -> str:
    """The name of a prompt."""
    return f"team/review-{number:05d}"


def spec(number: int, revision: int = 0) -> dict[str, Any]:
    """A prompt as JSON has it. Revisions differ in the description."""
    return {
        "name": name(number),
        "title": f"Review a change, variant {number}",
        "description": (
            f"Reads a change of {number} and says what a careful reviewer would say of it, in the order of "
            f"importance, with a suggestion for each remark; revision {revision}."
        ),
        "arguments": [
            argument("change", "The change itself, as a unified diff or as a link to it", required=True),
            argument("focus", "What to look at first: security, speed, style", required=False),
            argument("language", "The language in which the answer is to be written", required=False),
        ],
    }


def argument(name: str, description: str, *, required: bool) -> dict[str, Any]:
    """An argument of a prompt as JSON has it."""
    return {"name": name, "description": description, "required": required}


def specs(count: int, revision: int = 0) -> list[dict[str, Any]]:
    """That many prompts, of which one has been edited so often."""
    return [spec(number, revision if number == EDITED else 0) for number in range(count)]


def render(arguments: Mapping[str, str]) -> str:
    """What a prompt says."""
    return TEXT.format(focus=arguments.get("focus", ""), change=arguments.get("change", ""))


# --- what was seen ---


def seen(prompts: Iterable[Any]) -> list[Any]:
    """A list of typed prompts, as plain lists. Python's libraries call the fields alike."""
    return [
        [
            prompt.name,
            prompt.title,
            prompt.description,
            [[each.name, each.description, bool(each.required)] for each in prompt.arguments or ()],
        ]
        for prompt in prompts
    ]


def agreed(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """The list that all clients have, as plain lists; or that they do not agree on names and descriptions."""
    first, *others = [[(each.name, each.description) for each in one] for one in lists]
    return seen(lists[0]) if all(other == first for other in others) else ["they do not agree"]


def seen_json(prompts: Iterable[Mapping[str, Any]]) -> list[Any]:
    """A list of prompts that nobody has made objects of, as plain lists."""
    return [
        [
            prompt["name"],
            prompt["title"],
            prompt["description"],
            [[each["name"], each["description"], each["required"]] for each in prompt["arguments"]],
        ]
        for prompt in prompts
    ]


def seen_messages(messages: Iterable[Any]) -> list[Any]:
    """The typed messages of a rendered prompt, as plain lists."""
    return [[message.role, message.content.text] for message in messages]


def seen_reply(reply: bytes) -> list[Any]:
    """What a reply says, as JSON-RPC over whatever carried it."""
    result = json.loads(reply)["result"]
    if "prompts" in result:
        return seen_json(result["prompts"])
    return [[message["role"], message["content"]["text"]] for message in result["messages"]]


# --- what must be seen ---


def expected_list(count: int, revision: int = 0) -> list[Any]:
    """What a list must look like."""
    return seen_json(specs(count, revision))


def expected_get() -> list[Any]:
    """What `prompts/get` must look like."""
    return [["user", render(ARGUMENTS)]]


def digest(answer: Any) -> str:
    """The digest of plain lists, texts and numbers."""
    return hashlib.sha256(json.dumps(answer, separators=(",", ":")).encode()).hexdigest()


# --- requests, for those who are measured without a client ---

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(call: int, method: str, era: str, **params: Any) -> bytes:
    """A request as a client writes it, without the newline."""
    if era == "modern":
        params = {**params, "_meta": META}
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": call, "method": method, "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


def initialize(call: int = 0) -> list[bytes]:
    """How a legacy client begins."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    }
    asks: dict[str, Any] = {"jsonrpc": "2.0", "id": call, "method": "initialize", "params": params}
    tells = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    return [json.dumps(asks).encode(), json.dumps(tells).encode()]


def ask(method: str, era: str) -> bytes:
    """The request of a method that is measured."""
    if method == "prompts/list":
        return request(1, method, era)
    return request(1, method, era, name=name(EDITED), arguments=ARGUMENTS)


EDIT = "edit"
"""The prompt that edits another one when it is rendered: how a client in another process changes the list."""


def framed(what: str, size: int) -> bytes:
    """A line, or an event, whose text is so long."""
    text = b"x" * size
    return text + b"\n" if what == "line" else b"data: " + text + b"\n\n"
