"""The faults of peers: servers that say what they should not, in a language that is almost the protocol.

A lie is a rule over what a server writes: it takes one message of a write, and what it makes of it travels in
its place. The node itself goes on in good faith, so the trace has both, what was meant and what arrived. A
client that is lied to may be wrong, but never for long, and must neither break nor hang nor pile things up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from mcp_sansio._meta import SUBSCRIPTION_ID
from mcp_sansio._plain import is_array, is_object, member
from mcp_sansio._subscription import ACKNOWLEDGED
from mcp_sansio._types import LIST_CHANGED

from ._faults import Fault
from ._links import Pipe, Rule
from ._tape import Tape

Message: TypeAlias = "dict[str, Any]"
Lie: TypeAlias = "Callable[[Tape, Message], Sequence[Message] | None]"
"""What travels in the place of a message; None if it is not one that can be lied about in this way."""

ODD: Sequence[Any] = (None, "", 0, -1, True, 1.5, [], {}, "odd", 1 << 70, [None], {"a": []}, "\x00\u2028")
"""Values of a type that nobody expects."""


def _tell(lie: Lie) -> Rule:
    """A rule that lies about the first message of a write that can be lied about."""

    def rule(pipe: Pipe, data: bytes) -> bool:
        lines = data.split(b"\n")
        for at, line in enumerate(lines[:-1]):
            told = in_place_of(lie, pipe.world.tape, line)
            if told is not None:
                lines[at : at + 1] = told
                pipe.send(b"\n".join(lines))
                return True
        return False

    return rule


def in_place_of(lie: Lie, tape: Tape, said: bytes) -> list[bytes] | None:
    """The messages, encoded, that travel in the place of one; None if it is not lied about."""
    message = _read(said)
    told = None if message is None else lie(tape, message)
    return None if told is None else [msgspec.json.encode(each) for each in told]


def _read(line: bytes) -> Message | None:
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return message if is_object(message) else None


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a value that has members, the outermost first."""
    if is_object(value):
        if value:
            yield value
        for inner in value.values():
            yield from _objects(inner)
    elif is_array(value):
        for inner in value:
            yield from _objects(inner)


def _place(tape: Tape, message: Message) -> tuple[dict[str, Any], str]:
    """A member, anywhere in a message: the object that has it, and its name."""
    found = tape.one_of("peer: object", [*_objects(message)])
    return found, tape.one_of("peer: member", [*found])


def _missing(tape: Tape, message: Message) -> Sequence[Message]:
    found, name = _place(tape, message)
    del found[name]
    return (message,)


def _wrong_type(tape: Tape, message: Message) -> Sequence[Message]:
    found, name = _place(tape, message)
    found[name] = tape.one_of("peer: value", ODD)
    return (message,)


def _unknown(tape: Tape, message: Message) -> Sequence[Message]:
    found, _ = _place(tape, message)
    found["x-unknown"] = tape.one_of("peer: value", ODD)
    return (message,)


def _version(tape: Tape, message: Message) -> Sequence[Message] | None:
    result = message.get("result")
    if not is_object(result):
        return None
    if "protocolVersion" in result:
        result["protocolVersion"] = tape.one_of("peer: version", ("2024-11-05", "1999-01-01", "2026-07-28"))
    elif "supportedVersions" in result:
        others: Sequence[list[str]] = ([], ["1999-01-01"], ["2025-06-18"], ["2025-11-25", "2026-07-28"])
        result["supportedVersions"] = tape.one_of("peer: versions", others)
    else:
        return None
    return (message,)


def _hint(name: str, values: Sequence[Any]) -> Lie:
    """Another value for a hint of a list."""

    def lie(tape: Tape, message: Message) -> Sequence[Message] | None:
        result = message.get("result")
        if not is_object(result) or name not in result:
            return None
        result[name] = tape.one_of(f"peer: {name}", values)
        return (message,)

    return lie


def _cursor(tape: Tape, message: Message) -> Sequence[Message] | None:
    result = message.get("result")
    if not is_object(result) or "prompts" not in result:
        return None
    result["nextCursor"] = tape.one_of("peer: nextCursor", (None, "", "again", 7, "x" * 5000))
    return (message,)


def _scope(tape: Tape, message: Message) -> Sequence[Message] | None:
    result = message.get("result")
    if not is_object(result) or "cacheScope" not in result:
        return None
    flipped = "private" if result["cacheScope"] == "public" else "public"
    result["cacheScope"] = tape.one_of("peer: cacheScope", (flipped, "shared", None))
    return (message,)


def _tag(tape: Tape, message: Message) -> Sequence[Message] | None:
    meta = member(message.get("params"), "_meta")
    if not is_object(meta) or SUBSCRIPTION_ID not in meta:
        return None
    right = meta.pop(SUBSCRIPTION_ID)
    wrong = tape.one_of("peer: subscription", (None, str(right), 0, 99, [right]))
    if wrong is not None:
        meta[SUBSCRIPTION_ID] = wrong
    return (message,)


def _again(tape: Tape, message: Message) -> Sequence[Message]:
    return (message,) * (2 + tape.draw("peer: again", 3))


def _acknowledged_again(tape: Tape, message: Message) -> Sequence[Message] | None:
    return _again(tape, message) if message.get("method") == ACKNOWLEDGED else None


def _unsolicited(tape: Tape, message: Message) -> Sequence[Message]:
    tag = tape.one_of("peer: unsolicited", (None, 1, 2, 3, "1"))
    params = {} if tag is None else {"_meta": {SUBSCRIPTION_ID: tag}}
    return ({"jsonrpc": "2.0", "method": LIST_CHANGED, "params": params}, message)


def _id(change: Callable[[Tape, Any], Any]) -> Lie:
    """Another id for an answer."""

    def lie(tape: Tape, message: Message) -> Sequence[Message] | None:
        if "method" in message or type(message.get("id")) is not int:
            return None
        message["id"] = change(tape, message["id"])
        return (message,)

    return lie


def _string(_tape: Tape, wire_id: int) -> Any:
    return str(wire_id)


def _another(tape: Tape, wire_id: int) -> Any:
    return tape.one_of("peer: id", (wire_id + 1, wire_id - 1, wire_id + 0.5, -wire_id, 0, None))


def _error(tape: Tape, message: Message) -> Sequence[Message] | None:
    if "result" not in message:
        return None
    del message["result"]
    code = tape.one_of("peer: code", (-32602, -32603, -32601, -32000, -32021, -32022, 0, "code"))
    message["error"] = {"code": code, "message": "something"}
    return (message,)


def _swallowed(_tape: Tape, message: Message) -> Sequence[Message] | None:
    return None if "method" in message else ()


def _requests(tape: Tape, message: Message) -> Sequence[Message]:
    methods = ("ping", "sampling/createMessage", "elicitation/create", "roots/list", "prompts/list")
    request = {"jsonrpc": "2.0", "id": 1, "method": tape.one_of("peer: request", methods)}
    return (request, message)


def _asks(_tape: Tape, message: Message) -> Sequence[Message] | None:
    if "result" not in message:
        return None
    message["result"] = {"resultType": "input_required", "inputRequests": {}, "requestState": "state"}
    return (message,)


def _result_type(tape: Tape, message: Message) -> Sequence[Message] | None:
    if not is_object(message.get("result")):
        return None
    message["result"]["resultType"] = tape.one_of("peer: resultType", ("task", "", None, 1))
    return (message,)


def _prompts(tape: Tape, message: Message) -> Sequence[Message] | None:
    """A page with a prompt twice, with some that are none, or with none."""
    prompts = member(message.get("result"), "prompts")
    if not is_array(prompts):
        return None
    odd: Sequence[Any] = (prompts * 2, [*prompts, None, {"name": 1}], [], [{"name": ""}], None)
    message["result"]["prompts"] = tape.one_of("peer: prompts", odd)
    return (message,)


def _ends(_tape: Tape, message: Message) -> Sequence[Message] | None:
    """A subscription is over as soon as it is acknowledged."""
    meta = member(message.get("params"), "_meta")
    if message.get("method") != ACKNOWLEDGED or not is_object(meta):
        return None
    return (message, {"jsonrpc": "2.0", "id": meta.get(SUBSCRIPTION_ID), "result": {"_meta": meta}})


TTLS = (-1, 0, 1 << 62, 1e300, 0.5, "60000", None)


LIES: Sequence[tuple[str, str, Lie]] = (
    ("version", "another revision than was agreed on", _version),
    ("missing", "a member is missing", _missing),
    ("type", "a value has another type", _wrong_type),
    ("unknown", "a member that nobody knows", _unknown),
    ("ttl", "a ttlMs that is negative, huge, or no number", _hint("ttlMs", TTLS)),
    ("scope", "another cacheScope on one page", _scope),
    ("cursor", "a nextCursor that is null, empty, always the same", _cursor),
    ("prompts", "prompts twice, or what is none", _prompts),
    ("tag", "a notification of another subscription, or of none", _tag),
    ("acknowledged-twice", "a subscription is acknowledged again", _acknowledged_again),
    ("ends", "a subscription ends as soon as it began", _ends),
    ("unsolicited", "a change is announced that was not asked for", _unsolicited),
    ("twice", "a message comes more than once", _again),
    ("string-id", "an id comes back as a string", _id(_string)),
    ("other-id", "an answer to another request", _id(_another)),
    ("error", "an error instead of a result", _error),
    ("swallowed", "an answer never comes", _swallowed),
    ("requests", "a server asks a client", _requests),
    ("asks", "input is asked for, whatever the request was", _asks),
    ("result-type", "a result of a kind that nobody knows", _result_type),
)
"""Every lie: its name, what it says, and how."""


def peer_fault(name: str, about: str, rule: Rule) -> Fault:
    """A lie as a fault."""
    return Fault(f"peer-{name}", "peer", about, rule, rare=20, wild=4, replies=True)


PEER: Sequence[Fault] = tuple(peer_fault(name, about, _tell(lie)) for name, about, lie in LIES)
"""Every lie, over lines."""
