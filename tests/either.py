"""A client of prompts whose hand-written server is reached over lines or over HTTP.

`Told` has one set of words for what a server is asked and what it says, so that a test of messages runs over
both. A request is spoken of by its method: there is one of each in flight.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, TypeVar

import pytest
from clients import MODERN, TAG, Peer, discovered
from http_asking import Asker, body, error

from mcp_sansio import Client, ListingConfig, PromptClient

E = TypeVar("E")

LISTEN = "subscriptions/listen"
OFFERS: dict[str, Any] = {"prompts": {"listChanged": True}, "completions": {}}
SILENT: dict[str, Any] = {"prompts": {}, "completions": {}}

both = pytest.mark.parametrize("carrier", ["lines", "http"])


class Told(abc.ABC):
    """The client, and what its server is asked and says."""

    client: Client

    def __init__(self) -> None:
        self.prompts = PromptClient(ListingConfig(eager=False))

    @property
    @abc.abstractmethod
    def now(self) -> float:
        """The time."""

    @abc.abstractmethod
    def asked(self, method: str) -> dict[str, Any]:
        """The one request of a method that is in flight."""

    @abc.abstractmethod
    def count(self, method: str) -> int:
        """How often a method was asked for so far."""

    @abc.abstractmethod
    def answer(self, method: str, result: Mapping[str, Any]) -> None:
        """Answer the request with a result, as it stands."""

    @abc.abstractmethod
    def refuse(self, method: str, code: int, message: str = "no", **more: Any) -> None:
        """Answer the request with an error; `data` may be added."""

    @abc.abstractmethod
    def tell(self, method: str, **params: Any) -> None:
        """Say something on the listen stream."""

    @abc.abstractmethod
    def of(self, kind: type[E]) -> list[E]:
        """The events of a class since the last look; the others are dropped."""

    @abc.abstractmethod
    def wait(self, seconds: float) -> None:
        """Let time pass."""

    def acknowledge(self, tag: Any = None) -> None:
        """Acknowledge the listen stream, under its own id unless told otherwise."""
        tag = self.asked(LISTEN)["id"] if tag is None else tag
        self.tell(
            "notifications/subscriptions/acknowledged",
            _meta={TAG: tag},
            notifications={"promptsListChanged": True},
        )

    def changed(self) -> None:
        """Announce a change of the prompts."""
        self.tell("notifications/prompts/list_changed", _meta={TAG: self.asked(LISTEN)["id"]})

    def page(self, *names: str, **members: Any) -> None:
        """Answer the list request with a page that is all there is."""
        prompts = [{"name": name} for name in names]
        self.answer("prompts/list", {"resultType": "complete", "prompts": prompts, **members})


class OverLines(Told):
    """Over one stream of bytes."""

    def __init__(self, **config: Any) -> None:
        super().__init__()
        self._peer = Peer(self.prompts, **config)
        self._done: set[Any] = set()
        self.client = self._peer.client

    @property
    def now(self) -> float:
        return self._peer.now

    def asked(self, method: str) -> dict[str, Any]:
        self._peer.sent()
        log = self._peer.log
        given_up = {message["params"]["requestId"] for message in log if _cancels(message)}
        over = self._done | given_up
        (found,) = [part for part in log if part.get("method") == method and part.get("id") not in over]
        return found

    def count(self, method: str) -> int:
        self._peer.sent()
        return sum(message.get("method") == method for message in self._peer.log)

    def answer(self, method: str, result: Mapping[str, Any]) -> None:
        wire_id = self.asked(method)["id"]
        self._done.add(wire_id)
        self._peer.reply(wire_id, result)

    def refuse(self, method: str, code: int, message: str = "no", **more: Any) -> None:
        wire_id = self.asked(method)["id"]
        self._done.add(wire_id)
        self._peer.error(wire_id, code, message, **more)

    def tell(self, method: str, **params: Any) -> None:
        self._peer.notify(method, params)

    def of(self, kind: type[E]) -> list[E]:
        return self._peer.of(kind)

    def wait(self, seconds: float) -> None:
        self._peer.sent()
        self._peer.wait(seconds)


class OverHttp(Told):
    """Over an exchange for each request."""

    def __init__(self, **config: Any) -> None:
        super().__init__()
        self._web = Asker(self.prompts, **config)
        self._listening = False
        self.client = self._web.client

    @property
    def now(self) -> float:
        return self._web.now

    def asked(self, method: str) -> dict[str, Any]:
        return body(self._web.one(method))

    def count(self, method: str) -> int:
        return self._web.count(method)

    def answer(self, method: str, result: Mapping[str, Any]) -> None:
        self._web.reply(self._web.one(method), result)

    def refuse(self, method: str, code: int, message: str = "no", **more: Any) -> None:
        """A modern server says 404 of a method that it does not have, and 400 of most else."""
        status = 404 if code == -32601 else 400
        self._web.refuse(self._web.one(method), status, **error(code, message, **more))

    def tell(self, method: str, **params: Any) -> None:
        stream = self._web.one(LISTEN)
        say = self._web.say if self._listening else self._web.stream
        self._listening = True
        say(stream, {"method": method, "params": params})

    def of(self, kind: type[E]) -> list[E]:
        return self._web.of(kind)

    def wait(self, seconds: float) -> None:
        self._web.wait(seconds)


def _cancels(message: Mapping[str, Any]) -> bool:
    return message.get("method") == "notifications/cancelled"


def reached(carrier: str, **config: Any) -> Told:
    """A client that has asked what its server is."""
    return OverLines(**config) if carrier == "lines" else OverHttp(**config)


def modern(carrier: str, offers: Mapping[str, Any] | None = None, **config: Any) -> Told:
    """A client that has found a modern server, which announces no changes unless told otherwise."""
    told = reached(carrier, **config)
    told.answer("server/discover", discovered((MODERN,), **(SILENT if offers is None else offers)))
    told.of(object)
    return told
