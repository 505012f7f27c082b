"""What a client has to say: who goes first, who waits behind the barrier, what outlives a carrier."""

from __future__ import annotations

from typing import Any

from mcp_sansio._calls import Call, Limits
from mcp_sansio._contract import Send
from mcp_sansio._events import CallId
from mcp_sansio._outbox import Entry, Outbox
from mcp_sansio._tables import CallState

NOTE, PONG = Send(b"{}", "notifications/roots/list_changed"), Send(b"{}", id=1)


def call(number: int, state: CallState = CallState.QUEUED, *, urgent: bool = False) -> Call:
    absent: Any = None
    return Call(
        id=CallId(number),
        wire_id=number,
        method="prompts/list",
        members=b"",
        meta=b"",
        limits=Limits(1.0, 1.0),
        owner=absent,
        op=absent,
        wants_progress=False,
        urgent=urgent,
        recognizes=absent,
        state=state,
    )


def filled(*urgent: Entry, others: tuple[Entry, ...] = ()) -> Outbox:
    outbox = Outbox()
    for entry in others:
        outbox.post(entry)
    for entry in urgent:
        outbox.post_urgent(entry)
    return outbox


def left(outbox: Outbox, *, era_known: bool = True) -> list[Entry]:
    entries: list[Entry] = []
    while (entry := outbox.next(era_known=era_known)) is not None:
        entries.append(entry)
    return entries


def test_what_is_urgent_goes_first_and_each_in_its_order() -> None:
    one, two, three = call(1), call(2), call(3)
    assert left(filled(PONG, three, others=(one, NOTE, two))) == [PONG, three, one, NOTE, two]


def test_only_what_is_urgent_leaves_before_the_era_is_known() -> None:
    one, probe = call(1), call(2, urgent=True)
    outbox = filled(probe, others=(one,))
    assert left(outbox, era_known=False) == [probe]
    outbox.post_urgent(PONG)
    assert left(outbox, era_known=False) == [PONG]
    assert left(outbox) == [one]


def test_calls_wait_for_the_next_carrier_but_for_the_urgent() -> None:
    one, probe = call(1), call(2, urgent=True)
    outbox = filled(probe, PONG, others=(NOTE, one, call(3, CallState.DONE)))
    assert outbox.detach() == [probe]
    assert left(outbox) == [one]


def test_an_urgent_call_that_has_ended_is_not_ended_again() -> None:
    assert filled(call(1, CallState.DONE, urgent=True)).detach() == []


def test_at_the_end_only_what_asks_for_no_reply_leaves() -> None:
    outbox = filled(PONG, call(1, urgent=True), others=(call(2), NOTE))
    outbox.finish(era_known=True)
    assert left(outbox) == [PONG, NOTE]


def test_at_an_end_before_the_era_is_known_what_waited_for_it_stays() -> None:
    outbox = filled(PONG, others=(NOTE,))
    outbox.finish(era_known=False)
    assert left(outbox) == [PONG]


def test_an_outbox_that_has_been_emptied_is_as_small_as_a_new_one() -> None:
    outbox = filled(PONG, others=(call(1), NOTE))
    left(outbox)
    assert vars(outbox) == vars(Outbox())
    outbox.detach()
    assert vars(outbox) == vars(Outbox())
