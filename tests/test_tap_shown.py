"""What the tap shows and records of the messages it sees: its pure half."""

import json

from hypothesis import given
from hypothesis import strategies as st

from mcp_sansio_adapters.tap import CHILD_ERRORS, FROM_SERVER, TO_SERVER, Lines, Pretty, Record


def shown(*records: Record, errors: bool = True) -> list[str]:
    pretty = Pretty(10.0, errors=errors)
    return [line for record in records for line in pretty.show(record)]


def test_a_reply_is_shown_with_its_request_and_how_long_it_took() -> None:
    assert shown(
        Record(10.5, TO_SERVER, b'{"id":1,"method":"prompts/get","params":{"name":"a"}}'),
        Record(10.6, FROM_SERVER, b'{"id":1,"method":"roots/list"}'),
        Record(10.75, FROM_SERVER, b'{"id":1,"result":{"messages":[]}}'),
        Record(13.0, TO_SERVER, b'{"id":1,"error":{"code":-1,"message":"no"}}'),
        Record(13.0, FROM_SERVER, b'{"id":"1","result":{}}'),
        Record(13.0, FROM_SERVER, b'{"method":"notifications/x"}'),
    ) == [
        "    0.500 → prompts/get #1",
        '            {"name": "a"}',
        "    0.600 ← roots/list #1",
        "    0.750 ← prompts/get #1 after 250.0 ms",
        '            {"messages": []}',
        "    3.000 → roots/list #1 after 2.40 s FAILED",
        '            {"code": -1, "message": "no"}',
        '    3.000 ← #"1", which nobody asked for',
        "    3.000 ← notifications/x",
    ]


def test_what_is_long_is_shortened_and_what_a_terminal_obeys_is_escaped() -> None:
    params = {"text": "x" * 300, "items": [*range(20)], "escape": "\x1b[2J\x9b", "deep": [[[[[[[1]]]]]]]}
    message = {"method": "a\nb", "params": params}
    lines = shown(Record(10.0, TO_SERVER, json.dumps(message).encode()))
    text = "\n".join(lines)
    assert lines[0] == "    0.000 → a\\nb"
    assert "x" * 200 + "… 100 more" in text
    assert "… 12 more" in text
    assert "\x1b" not in text
    assert "\x9b" not in text
    assert "…" in text


def test_what_is_no_message_is_shown_as_what_it_is() -> None:
    assert shown(
        Record(10.0, FROM_SERVER, b"Listening \x1b[0m"),
        Record(10.0, FROM_SERVER, b"\xff\xff"),
        Record(10.0, FROM_SERVER, b"{" * 200, 5000),
        Record(10.0, FROM_SERVER, b'{"a":1}'),
        Record(10.0, FROM_SERVER, b'[{"method":"a"},3]'),
        Record(10.0, CHILD_ERRORS, b'{"id":1}'),
    ) == [
        "    0.000 ← Listening \\x1b[0m",
        "    0.000 ← 2 bytes that are no text",
        f"    0.000 ← a line of 5000 bytes: {'{' * 200}",
        "    0.000 ← no message of JSON-RPC",
        '            {"a": 1}',
        "    0.000 ← a batch of 2",
        "    0.000 ← a",
        "    0.000 ← no message of JSON-RPC",
        "            3",
        '    0.000 ! {"id":1}',
    ]
    assert shown(Record(10.0, CHILD_ERRORS, b"x"), errors=False) == []


def test_requests_that_nobody_answers_are_forgotten() -> None:
    asked = [Record(10.0, TO_SERVER, b'{"id":%d,"method":"a"}' % each) for each in range(1001)]
    *_, first, last = shown(
        *asked,
        Record(11.0, FROM_SERVER, b'{"id":0,"result":{}}'),
        Record(11.0, FROM_SERVER, b'{"id":1000,"result":{}}'),
    )
    assert "nobody asked" in first
    assert "a #1000 after" in last


def test_what_was_lost_is_counted_and_the_next_whole_line_is_recorded() -> None:
    lines = Lines()
    assert [*lines.feed(TO_SERVER, b'{"id":', 1.0)] == []
    (lost,) = lines.lose(TO_SERVER, 7, 2.0)
    assert json.loads(lost.as_json(0.0))["tap"] == {"lost": TO_SERVER, "bytes": 7}
    assert [*lines.feed(TO_SERVER, b"rest", 3.0)] == []
    assert [record.line for record in lines.feed(TO_SERVER, b'}\n{"id":2}\nopen', 3.0)] == [b'{"id":2}']
    assert [record.line for record in lines.finish(4.0)] == [b"open"]


@given(st.lists(st.binary(max_size=300), max_size=6))
def test_a_record_of_anything_is_a_line_of_json_and_can_be_shown(chunks: list[bytes]) -> None:
    lines, pretty = Lines(limit=250), Pretty(0.0, colour=True)
    records = [record for chunk in chunks for record in lines.feed(TO_SERVER, chunk, 0.0)]
    for record in [*records, *lines.finish(0.0)]:
        line = record.as_json(0.0)
        assert line.count(b"\n") == 1
        assert isinstance(json.loads(line), dict)
        assert all("\n" not in shown for shown in pretty.show(record))
