"""What the codec accepts and refuses, value by value.

The first part goes over every member of every class with a value of every JSON type: the specification's
schema, written down as one word per member, decides which are right. The rest are texts that some decoder
or other is known to take for something that they are not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from mcp_sansio._errors import InvalidMessage
from mcp_sansio._json import Malformed, Request, Response, decode, encode, parse
from mcp_sansio._structure import encode_typed, structure, structure_value
from mcp_sansio._types import (
    Annotations,
    AudioContent,
    BlobResource,
    Completion,
    EmbeddedResource,
    GetPromptResult,
    Icon,
    ImageContent,
    Implementation,
    InputRequest,
    InputRequired,
    Prompt,
    PromptArgument,
    PromptMessage,
    ResourceLink,
    TextContent,
    TextResource,
)

NEWEST = "2026-07-28"

SAMPLES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2,
    10**30,
    0.5,
    1.0,
    "",
    "no",
    "false",
    "48x48",
    "user",
    "light",
    [],
    ["user"],
    ["48x48"],
    [5],
    [None],
    [[]],
    [{}],
    {},
    {"k": 1},
]


def array_of(item: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: type(value) is list and all(map(item, value))


def is_integer(value: Any) -> bool:
    return type(value) is int


def is_role(value: Any) -> bool:
    return value in ("user", "assistant")


KINDS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: type(value) is str,
    "boolean": lambda value: type(value) is bool,
    "integer": is_integer,
    "share": lambda value: type(value) in (int, float) and 0 <= value <= 1,
    "object": lambda value: type(value) is dict,
    "strings": array_of(lambda item: type(item) is str),
    "role": is_role,
    "roles": array_of(is_role),
    "theme": lambda value: value in ("light", "dark"),
    # No sample is a valid instance of these classes; an empty array holds none that is not.
    "instance": lambda _: False,
    "instances": lambda value: value == [],
    # All members of annotations are optional, and unknown ones are ignored.
    "annotations": lambda value: type(value) is dict,
    "map of instances": lambda value: value == {},
}

ANNOTATED = {"annotations": "annotations", "_meta": "object"}
NAMED = {"name": "string!", "title": "string", "description": "string"}

SCHEMA: dict[Any, dict[str, str]] = {
    Annotations: {"audience": "roles", "priority": "share", "lastModified": "string"},
    Icon: {"src": "string!", "mimeType": "string", "sizes": "strings", "theme": "theme"},
    Implementation: {**NAMED, "version": "string!", "websiteUrl": "string", "icons": "instances"},
    TextContent: {"text": "string!", **ANNOTATED},
    ImageContent: {"data": "string!", "mimeType": "string!", **ANNOTATED},
    AudioContent: {"data": "string!", "mimeType": "string!", **ANNOTATED},
    ResourceLink: {
        **NAMED,
        "uri": "string!",
        "mimeType": "string",
        "size": "integer",
        "icons": "instances",
        **ANNOTATED,
    },
    TextResource: {"uri": "string!", "text": "string!", "mimeType": "string", "_meta": "object"},
    BlobResource: {"uri": "string!", "blob": "string!", "mimeType": "string", "_meta": "object"},
    EmbeddedResource: {"resource": "instance!", **ANNOTATED},
    PromptMessage: {"role": "role!", "content": "instance!"},
    PromptArgument: {**NAMED, "required": "boolean"},
    Prompt: {**NAMED, "arguments": "instances", "icons": "instances", "_meta": "object"},
    GetPromptResult: {"messages": "instances!", "description": "string", "_meta": "object"},
    Completion: {"values": "strings!", "total": "integer", "hasMore": "boolean"},
    InputRequest: {"method": "string!", "params": "object"},
    InputRequired: {"inputRequests": "map of instances", "requestState": "string"},
}

VALID: dict[str, Any] = {
    "string!": "s",
    "role!": "user",
    "strings!": [],
    "instances!": [],
}


def smallest(cls: Any) -> dict[str, Any]:
    """An object with the required members of `cls` only."""
    members = {name: VALID.get(kind) for name, kind in SCHEMA[cls].items() if kind.endswith("!")}
    if cls is EmbeddedResource:
        members["resource"] = {"uri": "u", "text": "t"}
    if cls is PromptMessage:
        members["content"] = {"type": "text", "text": "t"}
    return members


MEMBERS = [(cls, name) for cls, members in SCHEMA.items() for name in members]


@pytest.mark.parametrize(("cls", "name"), MEMBERS)
def test_a_member_takes_values_of_its_type_and_no_others(cls: Any, name: str) -> None:
    kind = SCHEMA[cls][name]
    fits = KINDS[kind.removesuffix("!")]
    for sample in SAMPLES:
        members = {**smallest(cls), name: sample}
        if fits(sample):
            written = decode(encode_typed(structure(cls, encode(members)), NEWEST))
            kept = {} if kind == "annotations" else sample
            empty = kept if kept in ([], {}) else None  # which may be left out where it is the default
            assert written.get(name, empty) == kept, sample
        elif sample is None and not kind.endswith("!"):
            assert structure(cls, encode(members)) == structure(cls, encode(smallest(cls)))
        else:
            for read in (partial(structure, cls, encode(members)), partial(structure_value, cls, members)):
                with pytest.raises(InvalidMessage) as refused:
                    read()
                assert refused.value.path.startswith(f"$.{name}"), sample


@pytest.mark.parametrize("cls", SCHEMA)
def test_a_required_member_must_be_there(cls: Any) -> None:
    members = smallest(cls)
    structure(cls, encode(members))
    for name in members:
        with pytest.raises(InvalidMessage, match=name):
            structure(cls, encode({other: value for other, value in members.items() if other != name}))


@pytest.mark.parametrize("cls", SCHEMA)
@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if type(sample) is not dict], ids=repr)
def test_an_instance_is_an_object(cls: Any, sample: Any) -> None:
    for read in (partial(structure, cls, encode(sample)), partial(structure_value, cls, sample)):
        with pytest.raises(InvalidMessage, match="Expected `object`"):
            read()


# --- rendered prompts ------------------------------------------------------------------------------------

TEXT = b'{"type":"text","text":"x"}'

REFUSED = {
    "a system role": (b'{"messages":[{"role":"system","content":%b}]}' % TEXT, "$.messages[0].role"),
    "a role in capitals": (b'{"messages":[{"role":"User","content":%b}]}' % TEXT, "$.messages[0].role"),
    "no role": (b'{"messages":[{"content":%b}]}' % TEXT, "$.messages[0]"),
    "no content": (b'{"messages":[{"role":"user"}]}', "$.messages[0]"),
    "no messages": (b"{}", "$"),
    "null messages": (b'{"messages":null}', "$.messages"),
    "messages in an object": (b'{"messages":{}}', "$.messages"),
    "a message that is text": (b'{"messages":["x"]}', "$.messages[0]"),
    "content in an array": (
        b'{"messages":[{"role":"user","content":[%b]}]}' % TEXT,
        "$.messages[0].content",
    ),
    "bare text for content": (b'{"messages":[{"role":"user","content":"x"}]}', "$.messages[0].content"),
    "text that is a number": (
        b'{"messages":[{"role":"user","content":{"type":"text","text":5}}]}',
        "$.messages[0].content.text",
    ),
    "content without a type": (
        b'{"messages":[{"role":"user","content":{"text":"x"}}]}',
        "$.messages[0].content",
    ),
    "an unknown type": (
        b'{"messages":[{"role":"user","content":{"type":"video","text":"x"}}]}',
        "$.messages[0].content.type",
    ),
    "a type that is a number": (
        b'{"messages":[{"role":"user","content":{"type":5}}]}',
        "$.messages[0].content.type",
    ),
    "an image without data": (
        b'{"messages":[{"role":"user","content":{"type":"image","mimeType":"image/png"}}]}',
        "$.messages[0].content",
    ),
    "a resource without contents": (
        b'{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"u"}}}]}',
        "$.messages[0].content.resource",
    ),
    "the second message is wrong": (
        b'{"messages":[{"role":"user","content":%b},{"role":"user","content":7}]}' % TEXT,
        "$.messages[1].content",
    ),
}


@pytest.mark.parametrize(("raw", "path"), REFUSED.values(), ids=REFUSED)
def test_a_rendered_prompt_of_another_shape_is_refused_with_its_path(raw: bytes, path: str) -> None:
    with pytest.raises(InvalidMessage) as refused:
        structure(GetPromptResult, raw)
    assert refused.value.path == path
    assert refused.value.reason


def test_all_kinds_of_content_are_read() -> None:
    blocks = (
        b'{"type":"text","text":"x"}',
        b'{"type":"image","data":"ZA==","mimeType":"image/png"}',
        b'{"type":"audio","data":"ZA==","mimeType":"audio/wav"}',
        b'{"type":"resource_link","uri":"u","name":"n"}',
        b'{"type":"resource","resource":{"uri":"file:///a%20b","text":"x"}}',
        b'{"type":"resource","resource":{"uri":"u","blob":"ZA==","mimeType":"m"}}',
    )
    raw = b'{"messages":[%b]}' % b",".join(b'{"role":"user","content":%b}' % block for block in blocks)
    result = structure(GetPromptResult, raw)
    assert [message.content for message in result.messages] == [
        TextContent("x"),
        ImageContent("ZA==", "image/png"),
        AudioContent("ZA==", "audio/wav"),
        ResourceLink("u", "n"),
        EmbeddedResource(TextResource("file:///a%20b", "x")),
        EmbeddedResource(BlobResource("u", "ZA==", "m")),
    ]
    assert encode_typed(result, NEWEST) == raw


def test_no_messages_are_messages() -> None:
    assert structure(GetPromptResult, b'{"messages":[]}') == GetPromptResult(())


# --- texts ---------------------------------------------------------------------------------------------

STRICT = {
    "a number for a name": b'{"name":5}',
    "null for a name": b'{"name":null}',
    "an array for a name": b'{"name":["a"]}',
    "a number for a flag": b'{"name":"p","arguments":[{"name":"a","required":1}]}',
    "a word for a flag": b'{"name":"p","arguments":[{"name":"a","required":"no"}]}',
    "text for an array": b'{"name":"p","icons":[{"src":"s","sizes":"48x48"}]}',
    "an object for an array": b'{"name":"p","icons":[{"src":"s","sizes":{"48x48":1}}]}',
    "an empty object for an array": b'{"name":"p","arguments":{}}',
    "an empty text for an array": b'{"name":"p","arguments":""}',
    "NaN": b'{"name":"p","_meta":{"k":NaN}}',
    "Infinity": b'{"name":"p","_meta":{"k":Infinity}}',
    "a number that would be infinite": b'{"name":"p","_meta":{"k":1e400}}',
    "bytes that are not UTF-8": b'{"name":"\x97"}',
    "Latin-1": '{"name":"é"}'.encode("latin-1"),
    "an overlong encoding": b'{"name":"\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"name":"\xed\xa0\xbd"}',
    "half a surrogate pair": rb'{"name":"\ud83d"}',
    "a surrogate pair the wrong way round": rb'{"name":"\udc00\ud83d"}',
    "half a pair in a member's name": rb'{"name":"p","\ud83d":1}',
    "UTF-16": '{"name":"p"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"name":"p"}',
    "a raw newline in a string": b'{"name":"a\nb"}',
    "a raw tab in a string": b'{"name":"a\tb"}',
    "an unknown escape": rb'{"name":"\x41"}',
    "single quotes": b"{'name':'p'}",
    "a name without quotes": b'{name:"p"}',
    "a trailing comma": b'{"name":"p",}',
    "a comment": b'{"name":"p"} // a prompt',
    "a leading zero": b'{"name":"p","_meta":{"k":01}}',
    "a plus sign": b'{"name":"p","_meta":{"k":+1}}',
    "a bare point": b'{"name":"p","_meta":{"k":1.}}',
    "hexadecimal": b'{"name":"p","_meta":{"k":0x1}}',
    "two values": b'{"name":"p"}{"name":"q"}',
    "nothing": b"",
    "white space that JSON does not know": b'{"name":\x0b"p"}',
}


@pytest.mark.parametrize("raw", STRICT.values(), ids=STRICT)
def test_a_text_that_is_nearly_a_prompt_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidMessage):
        structure(Prompt, raw)


LENIENT = {
    "escapes in a member's name": (rb'{"n\u0061me":"p"}', Prompt("p")),
    "a surrogate pair": (rb'{"name":"\ud83d\ude00"}', Prompt("😀")),
    "a character beyond the first plane": ('{"name":"😀"}'.encode(), Prompt("😀")),
    "separators of lines that are none in JSON": (
        '{"name":"a\u2028b\u2029\x85"}'.encode(),
        Prompt("a\u2028b\u2029\x85"),
    ),
    "NUL": (rb'{"name":"\u0000"}', Prompt("\x00")),
    "an escaped slash": (rb'{"name":"\/"}', Prompt("/")),
    "white space": (b' {\r\n\t"name" : "p" } ', Prompt("p")),
    "duplicates": (b'{"name":"a","name":"p"}', Prompt("p")),
    "unknown members": (b'{"name":"p","inputSchema":{"type":"object"},"x":[1e999]}', Prompt("p")),
    "a member that other classes are told apart by": (b'{"type":"text","name":"p"}', Prompt("p")),
    "a Python spelling": (b'{"name":"p","meta":{"k":1},"mime_type":5}', Prompt("p")),
    "a large integer": (b'{"name":"p","_meta":{"k":1180591620717411303424}}', Prompt("p", meta={"k": 2**70})),
    "an integer beyond doubles": (
        b'{"name":"p","_meta":{"k":9007199254740993}}',
        Prompt("p", meta={"k": 2**53 + 1}),
    ),
    "a name that Python would mistake": (
        b'{"name":"p","_meta":{"__class__":"x"}}',
        Prompt("p", meta={"__class__": "x"}),
    ),
}


@pytest.mark.parametrize(("raw", "prompt"), LENIENT.values(), ids=LENIENT)
def test_an_odd_text_that_is_a_prompt_is_read_exactly(raw: bytes, prompt: Prompt) -> None:
    assert structure(Prompt, raw) == prompt
    assert structure(Prompt, encode_typed(prompt, NEWEST)) == prompt


@pytest.mark.parametrize(
    ("raw", "number"),
    [
        (b"0", 0),
        (b"-0", 0),
        (b"1e2", 100.0),
        (b"1.0", 1.0),
        (b"18446744073709551616", 2**64),
        (b"1E-400", 0.0),
    ],
)
def test_numbers_keep_their_type(raw: bytes, number: float) -> None:
    value = decode(raw)
    assert value == number
    assert type(value) is type(number)


def test_one_bad_message_leaves_the_next_alone() -> None:
    bad = parse(b'{"jsonrpc":"2.0","id":1,"result":{"x":"\x97"}}')
    assert isinstance(bad, Malformed)
    assert (bad.id, bad.reply) == (1, True)
    assert parse(b'{"jsonrpc":"2.0","id":2,"result":{}}') == Response(2, b"{}")


def test_an_argument_that_is_half_a_surrogate_pair_is_answered_not_echoed() -> None:
    line = rb'{"jsonrpc":"2.0","id":8,"method":"prompts/get","params":{"arguments":{"name":"\ud83d"}}}'
    message = parse(line)
    assert isinstance(message, Malformed)
    assert (message.code, message.id, message.reply) == (-32602, 8, False)


def test_a_whole_surrogate_pair_is_text() -> None:
    message = parse(rb'{"jsonrpc":"2.0","id":8,"method":"m","params":{"a":"\ud83d\ude00"}}')
    assert isinstance(message, Request)
    assert message.params is not None
    assert decode(message.params) == {"a": "😀"}


def test_ids_are_compared_by_type_as_well() -> None:
    one = parse(b'{"jsonrpc":"2.0","id":"1","result":{}}')
    assert isinstance(one, Response)
    assert one.id == "1"
    assert one != parse(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    assert parse(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % (2**53 + 1)) == Response(2**53 + 1, b"{}")
    assert parse(b'{"jsonrpc":"2.0","id":"%b","result":{}}' % (b"x" * 200)) == Response("x" * 200, b"{}")
