"""What clients are told and do in tales: questions on the way, pages with prompts in them."""

from __future__ import annotations

from typing import Any

from telling import Tale

A2, A3 = ("a", "2"), ("a", "3")
LISTEN = "subscriptions/listen"
GET = "prompts/get"
PROMPT_A = {"name": "a", "description": "1"}


def asks_for_input(tale: Tale, id: int, state: str | None = None) -> Tale:
    result = {"resultType": "input_required", "inputRequests": {"q": {}}}
    return tale.takes({"id": id, "result": result if state is None else {**result, "requestState": state}})


def answers(tale: Tale, id: int, state: str | None = None, name: str = "a") -> Tale:
    more = {} if state is None else {"requestState": state}
    return tale.asks(id, GET, name=name, inputResponses={"q": {}}, **more)


def prompts(tale: Tale, id: int, *items: tuple[str, str], **more: Any) -> Tale:
    """A page with prompts in it, good for a minute and for all, is read."""
    listed: list[Any] = [{"name": name, "description": tag} for name, tag in items]
    return tale.asks(id).page(id, **{"prompts": listed, **more})


def list_of(asked: int, *items: tuple[str, str], private: bool = False, **more: Any) -> dict[str, Any]:
    """What a client reports of the list that it has read."""
    return {"asked": asked, "items": [*items], "private": private, **more}


def rendered(tale: Tale, id: int) -> Tale:
    """A prompt is rendered."""
    message = {"role": "user", "content": {"type": "text", "text": "a"}}
    return tale.asks(id, GET, name="a").gets(id, messages=[message])
