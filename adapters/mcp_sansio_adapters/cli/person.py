"""The person beside one connection, who fills in the forms that the server asks for to render a prompt.

A modern server answers that it wants input (`on_input`), a legacy one makes a request of its own while it
works (`on_request`), and the person sees no difference. One form is asked for after the other, the clock
stands still meanwhile, and Ctrl-C gives the prompt up. What is asked for while no prompt is waited for is
dismissed unseen: another question may be on the terminal then.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import attrs
import click

from mcp_sansio import ClientConfig, InputNeeded, RequestReceived
from mcp_sansio_adapters._options import ClientOptions

from .forms import answer

ELICIT = "elicitation/create"
FORMS: Mapping[str, Any] = {"elicitation": {}}
"""Without modes it means forms (schema, `ClientCapabilities`); earlier revisions have no other way."""

DISMISSED: Mapping[str, Any] = {"action": "cancel"}
"""The result of a form without "an explicit choice"."""


class Person:
    """Whoever sits at the terminal, for one connection."""

    def __init__(self) -> None:
        self._at_form = asyncio.Lock()
        self._waiting: asyncio.Task[Any] | None = None
        self._seconds = 0.0
        self._clock = asyncio.timeout(None)
        self._gave_up = False

    def options(self, config: ClientConfig) -> ClientOptions:
        """The options of a client that offers to fill in forms, and does, whatever the era."""
        capabilities, answers = {**config.capabilities, **FORMS}, (*config.answers, ELICIT)
        return {
            "config": attrs.evolve(config, capabilities=capabilities, answers=answers),
            "on_input": self._fill_in,
            "on_request": self._fill_in_asked,
        }

    @asynccontextmanager
    async def waits(self, seconds: float) -> AsyncGenerator[None]:
        """The block that waits for a prompt, for so long, not counting the time that forms take. It raises
        `TimeoutError`, and `click.Abort` for a person who gives up.
        """
        task = self._waiting = asyncio.current_task()
        self._seconds, self._clock = seconds, asyncio.timeout(seconds)
        try:
            async with self._clock:
                yield
        except asyncio.CancelledError:
            if task is None or not self._gave_up:
                raise
            task.uncancel()
            raise click.Abort from None
        finally:
            self._waiting = None

    async def _fill_in(self, needed: InputNeeded) -> dict[str, Any]:
        """The hook `on_input`; what it raises belongs to whoever waits."""
        return {key: await self._answer(request.params) for key, request in needed.requests.items()}

    async def _fill_in_asked(self, asked: RequestReceived) -> Mapping[str, Any]:
        """The hook `on_request`. The request names no prompt, so that giving up ends what waits from here."""
        try:
            return await self._answer(asked.params)
        except click.Abort:
            self._gave_up = True
            if self._waiting is not None:
                self._waiting.cancel()
            return DISMISSED

    async def _answer(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        async with self._at_form:
            if self._waiting is None or self._gave_up:
                return DISMISSED
            self._reschedule(None)
            try:
                return await answer(params)
            finally:
                self._reschedule(asyncio.get_running_loop().time() + self._seconds)

    def _reschedule(self, when: float | None) -> None:
        """Move the end of the wait, unless that is over."""
        if self._waiting is not None and not self._clock.expired():
            self._clock.reschedule(when)
