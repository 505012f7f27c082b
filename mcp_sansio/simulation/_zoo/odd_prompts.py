"""Prompts served in ways that are legal, and that a client may not expect.

Lists that are answered late, and so overtake each other; cursors that are short words, the empty string among
them; pages that differ in how long they are fresh.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, cast

import attrs

from mcp_sansio._catalogue import Catalogue
from mcp_sansio._events import IncomingRequest
from mcp_sansio._json import decode, encode
from mcp_sansio._prompt_server import PromptServer, PromptServerConfig
from mcp_sansio._server import Server


@attrs.frozen
class Oddities:
    """Which of them: `pace` says how long the next list takes; with `plain_cursors` the first cursor that is
    given out is the empty string; `uneven`: all pages but the last are fresh for an hour.
    """

    pace: Callable[[], float] | None = None
    plain_cursors: bool = False
    uneven: bool = False


class OddPrompts(PromptServer):
    """A catalogue that is served oddly."""

    def __init__(self, catalogue: Catalogue, config: PromptServerConfig, *, oddities: Oddities) -> None:
        super().__init__(catalogue, config)
        self._odd = oddities
        self._behind: dict[str, str] = {}
        self._words: dict[str, str] = {}
        self._late: dict[IncomingRequest, dict[str, Any]] = {}

    def bind(self, server: Server) -> None:
        super().bind(server)
        if self._odd.plain_cursors or self._odd.uneven:
            self.server = cast("Server", _Rewriting(server, self._rewritten))

    def requested(self, request: IncomingRequest, params: dict[str, Any], now: float) -> None:
        word = params.get("cursor")
        if isinstance(word, str):
            params = {**params, "cursor": self._behind.get(word, word)}
        if self._odd.pace is not None and request.method == "prompts/list":
            self._late[request] = params
            self.server.set_timer(self._later, now + self._odd.pace(), request)
        else:
            super().requested(request, params, now)

    def _later(self, key: Hashable, now: float) -> None:
        request = cast("IncomingRequest", key)
        params = self._late.pop(request)
        if request.stream is not None and request.stream.uses(request.id):
            super().requested(request, params, now)

    def _rewritten(self, answer: bytes) -> bytes:
        if b'"nextCursor"' not in answer:
            return answer
        result = decode(answer)
        if self._odd.plain_cursors:
            result["nextCursor"] = self._word(result["nextCursor"])
        if self._odd.uneven and "ttlMs" in result:
            result["ttlMs"] = 3_600_000
        return encode(result)

    def _word(self, cursor: str) -> str:
        word = self._words.get(cursor)
        if word is None:
            word = self._words[cursor] = f"{len(self._words)}" if self._words else ""
            self._behind[word] = cursor
        return word


class _Rewriting:
    """A server, as a layer sees it, except for what its answers say."""

    def __init__(self, server: Server, rewritten: Callable[[bytes], bytes]) -> None:
        self._server = server
        self._rewritten = rewritten

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def answer(self, request: IncomingRequest, result: bytes, now: float, *, end: bytes = b"") -> None:
        self._server.answer(request, self._rewritten(result + end), now)
