"""What a client can be asked for in the middle of a request, and what it has to have declared for that."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_sansio import InputRequest
from mcp_sansio._input import missing_capabilities, unknown_requests

ELICIT, SAMPLE, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"


def missing(declared: dict[str, Any], method: str, **params: Any) -> dict[str, dict[str, Any]]:
    return missing_capabilities({"key": InputRequest(method, params)}, declared)


def test_only_three_methods_can_be_asked_for() -> None:
    requests = {
        str(number): InputRequest(method)
        for number, method in enumerate((ELICIT, "ping", SAMPLE, ROOTS, "roots/List", ""))
    }
    assert unknown_requests(requests) == ["ping", "roots/List", ""]
    assert missing_capabilities({"a": InputRequest("ping")}, {}) == {}


@pytest.mark.parametrize(
    ("method", "params", "lacking"),
    [
        (ROOTS, {}, {"roots": {}}),
        (SAMPLE, {}, {"sampling": {}}),
        (SAMPLE, {"tools": []}, {"sampling": {"tools": {}}}),
        (SAMPLE, {"toolChoice": {"mode": "none"}}, {"sampling": {"tools": {}}}),
        (ELICIT, {}, {"elicitation": {"form": {}}}),
        (ELICIT, {"mode": None}, {"elicitation": {"form": {}}}),
        (ELICIT, {"mode": "url"}, {"elicitation": {"url": {}}}),
    ],
)
def test_what_is_not_declared_is_named(method: str, params: dict[str, Any], lacking: dict[str, Any]) -> None:
    assert missing({}, method, **params) == lacking
    assert missing({"elicitation": None, "sampling": True, "roots": []}, method, **params) == lacking


@pytest.mark.parametrize(
    ("declared", "method", "params"),
    [
        ({"roots": {}}, ROOTS, {}),
        ({"sampling": {}}, SAMPLE, {"tools": None, "toolChoice": None}),
        ({"sampling": {"tools": {}}}, SAMPLE, {"tools": [], "toolChoice": {}}),
        ({"elicitation": {}}, ELICIT, {}),
        ({"elicitation": {}}, ELICIT, {"mode": "form"}),
        ({"elicitation": {"form": {}}}, ELICIT, {"mode": "form"}),
        ({"elicitation": {"form": {}, "url": {}}}, ELICIT, {"mode": "url"}),
        ({"elicitation": {"x-vendor": {}}}, ELICIT, {"mode": "form"}),
    ],
)
def test_what_is_declared_may_be_asked(declared: dict[str, Any], method: str, params: dict[str, Any]) -> None:
    assert missing(declared, method, **params) == {}


def test_a_client_of_urls_only_is_asked_for_no_form() -> None:
    declared: dict[str, Any] = {"elicitation": {"url": {}}}
    assert missing(declared, ELICIT) == {"elicitation": {"form": {}}}
    assert missing(declared, ELICIT, mode=None) == {"elicitation": {"form": {}}}
    assert missing(declared, ELICIT, mode="url") == {}


def test_tools_in_sampling_are_declared_apart() -> None:
    assert missing({"sampling": {}}, SAMPLE, tools=[{"name": "t"}]) == {"sampling": {"tools": {}}}


@pytest.mark.parametrize("mode", [[], {}, 5, True, "FORM", ""])
def test_a_mode_of_any_shape_is_one_that_nobody_declared(mode: Any) -> None:
    declared: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
    assert missing(declared, ELICIT, mode=mode) == {"elicitation": {str(mode): {}}}


def test_what_several_requests_lack_is_named_together() -> None:
    requests = {
        "a": InputRequest(ELICIT, {"mode": "url"}),
        "b": InputRequest(ELICIT, {"mode": "form"}),
        "c": InputRequest(ROOTS),
        "d": InputRequest(SAMPLE),
    }
    assert missing_capabilities(requests, {"sampling": {}}) == {
        "elicitation": {"url": {}, "form": {}},
        "roots": {},
    }
