"""What an event of a trace is called where a person reads it: a few words, what matters and no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from mcp_sansio._plain import is_array, is_object, member
from mcp_sansio._trace import bytes_of
from mcp_sansio.simulation._ledger import params_of, tag_of

Fields: TypeAlias = Mapping[str, Any]

LONGEST = 60


def shorten(text: str, longest: int = LONGEST) -> str:
    """One line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def object_of(data: Any) -> dict[str, Any] | None:
    """The message of an event, if its text is one."""
    try:
        decoded: Any = msgspec.json.decode(bytes_of(data))
    except (msgspec.DecodeError, ValueError, TypeError, KeyError):
        return None
    return decoded if is_object(decoded) else None


class Correspondence:
    """Names messages; it remembers requests, since a response does not say what it answers."""

    def __init__(self) -> None:
        self._methods: dict[tuple[str, Any], str] = {}

    def label(self, link: str, data: Any) -> str:
        """A message in a few words."""
        message = object_of(data)
        if message is None:
            return shorten(f"no message: {data if isinstance(data, str) else data.get('hex', '')}")
        method, wire_id = message.get("method"), message.get("id")
        if isinstance(method, str):
            return self._asked(link, method, wire_id, message)
        asked = self._methods.get((link, repr(wire_id)), "")
        if "error" in message:
            error = message["error"]
            return shorten(f"[{wire_id}] error {member(error, 'code')}: {member(error, 'message')}")
        return shorten(f"[{wire_id}] {_result(asked, message.get('result'))}")

    def _asked(self, link: str, method: str, wire_id: Any, message: dict[str, Any]) -> str:
        params, name = params_of(message), method.removeprefix("notifications/")
        if wire_id is None:
            about = params.get("requestId", tag_of(message))
            return shorten(name if about is None else f"{name} (of [{about}])")
        self._methods[link, repr(wire_id)] = method
        words = [word for word in (_subject(method, params),) if word]
        return shorten(" ".join([f"[{wire_id}]", name, *words]))


def _subject(method: str, params: Fields) -> str:
    if "cursor" in params:
        return f"from …{str(params['cursor'])[-8:]}"
    if "requestState" in params or "inputResponses" in params:
        return f"{params.get('name', '')} with input"
    words = {
        "prompts/get": params.get("name"),
        "initialize": params.get("protocolVersion"),
        "completion/complete": member(params.get("ref"), "name"),
    }
    return str(words.get(method) or "")


def _result(method: str, result: Any) -> str:
    if member(result, "resultType") == "input_required":
        return "input required"
    prompts: Any = member(result, "prompts")
    if is_array(prompts):
        more = ", and more" if isinstance(member(result, "nextCursor"), str) else ""
        return f"{_count(len(prompts), 'prompt')}{more}"
    version = member(result, "protocolVersion")
    return f"{method}: {version}" if isinstance(version, str) else method or "result"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# --- what is no message -------------------------------------------------------------------------------


def _list(fields: Fields) -> str:
    marks = [word for word in ("fresh", "verified", "private") if fields.get(word)]
    listed = fields.get("items")
    size = "nothing" if listed is None else _count(len(listed), "prompt")
    return ", ".join([f"{size} (asked by [{fields.get('asked')}])", *marks])


_REPORTS: Mapping[str, Callable[[Fields], str]] = {
    "negotiated": lambda f: f"speaks {f.get('version')}",
    "negotiation-failed": lambda f: f"no revision: {f.get('reason')}",
    "disconnected": lambda f: f"disconnected: {f.get('reason')}",
    "channel": lambda f: f"changes are announced: {'yes' if f.get('live') else 'no'} ({f.get('reason')})",
    "invalidated": lambda f: f"the list is stale: {f.get('reason')}",
    "updated": lambda f: f"holds {_list(f)}",
    "listed": lambda f: f"is told {_list(f)}",
    "rendered": lambda f: f"has rendered: {', '.join(str(text) for text in f.get('texts', ()))}",
    "gone": lambda f: f"{f.get('name')} is gone",
    "failed": lambda f: f"{f.get('what')} failed: {f.get('reason')}",
    "odd": lambda f: f"odd: {f.get('text')}",
    "wire-failed": lambda f: f"the connection broke: {f.get('reason')}",
    "rest": lambda f: f"at rest, holds {_list(f)}" if "verified" in f else "at rest",
}


def report_label(kind: str, fields: Fields) -> str:
    """What an application is told, in a few words."""
    tell = _REPORTS.get(kind)
    return shorten(kind if tell is None else tell(fields))


def command_label(verb: str, fields: Fields) -> str:
    """What an application does."""
    if verb == "edit":
        put = [f"{name} {tag}" for name, tag in fields.get("put", ())]
        gone = [f"without {name}" for name in fields.get("remove", ())]
        return shorten(f"now has {', '.join([*put, *gone]) or 'nothing new'}")
    words = [str(value) for value in fields.values()]
    return shorten(" ".join([f"calls {verb}", *words]))


def fault_label(kind: str, fields: Fields) -> str:
    """What the world does to somebody."""
    words = [
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in fields.items()
    ]
    return shorten(" ".join([kind, *words]))
