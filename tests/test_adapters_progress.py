"""Progress that functions report leaves at once, on every front end, from wherever they run."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest
from fronts import AsyncFront, Front, text
from threaded import Flag, each_front, each_loop, together

from mcp_sansio import (
    Catalogue,
    LocalProtocolError,
    ProgressReported,
    Prompt,
)
from mcp_sansio_adapters import report_progress

Heard = list[tuple[float, float | None, str | None]]


def hearing(heard: Heard, flag: Flag) -> Callable[[ProgressReported], None]:
    def hear(event: ProgressReported) -> None:
        heard.append((event.progress, event.total, event.message))
        flag.set()

    return hear


@each_front
def test_progress_of_a_thread_leaves_at_once(front: Front) -> None:
    catalogue, flag, heard = Catalogue(), Flag(), Heard()

    @catalogue.prompt
    def tells() -> str:
        assert report_progress(1, 2, "half")
        flag.wait()
        return "heard"

    async def live(client: Any) -> None:
        assert text(await client.get_prompt("tells", on_progress=hearing(heard, flag))) == "heard"

    together(front, catalogue, live)
    assert heard == [(1, 2, "half")]


@each_loop
@pytest.mark.parametrize("asynchronous", [True, False])
def test_progress_of_the_loop_leaves_at_once(front: AsyncFront, asynchronous: bool) -> None:
    catalogue, flag, heard = Catalogue(), Flag(), Heard()

    async def until_heard() -> str:
        if asynchronous:
            assert report_progress(1, 2, "half")
        while not flag.is_set():
            await front.checkpoint()
        return "heard"

    @catalogue.prompt(blocking=False)
    def begins() -> Any:
        assert report_progress(1, 2, "half")
        return until_heard()

    catalogue.add(Prompt("awaits"), until_heard)

    async def live(client: Any) -> None:
        name = "awaits" if asynchronous else "begins"
        assert text(await client.get_prompt(name, on_progress=hearing(heard, flag))) == "heard"

    together(front, catalogue, live)
    assert heard == [(1, 2, "half")]


@each_front
def test_all_progress_comes_before_the_answer_and_only_if_it_was_asked_for(front: Front) -> None:
    catalogue, heard = Catalogue(), Heard()

    def from_another_thread() -> list[bool]:
        told: list[bool] = []
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(lambda: told.append(report_progress(4)),))
        thread.start()
        thread.join()
        return told

    @catalogue.prompt
    def counts() -> str:
        told = [report_progress(number) for number in (1, 2, 3)]
        return repr([*told, *from_another_thread()])

    async def live(client: Any) -> None:
        assert text(await client.get_prompt("counts")) == repr([False] * 4)
        answer = await client.get_prompt("counts", on_progress=hearing(heard, Flag()))
        assert text(answer) == repr([True] * 4)
        assert [progress for progress, _, _ in heard] == [1, 2, 3, 4]

    together(front, catalogue, live)


@each_front
def test_progress_that_cannot_be_is_the_mistake_of_its_function(front: Front) -> None:
    catalogue = Catalogue()

    @catalogue.prompt
    def stumbles() -> str:
        report_progress(2)
        for wrong in (2, 1):
            with pytest.raises(LocalProtocolError, match="must increase"):
                report_progress(wrong)
        return "but goes on"

    async def live(client: Any) -> None:
        answer = await client.get_prompt("stumbles", on_progress=hearing(Heard(), Flag()))
        assert text(answer) == "but goes on"

    together(front, catalogue, live)
