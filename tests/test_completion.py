"""Completion of prompt arguments, by revision."""

from __future__ import annotations

from typing import Any

import pytest
from asking import (
    COMPLETE,
    GET,
    SILENT,
    UNKNOWN,
    Asking,
    get,
)

from mcp_sansio import (
    ALL_VERSIONS,
    ArgumentCompleted,
    Cancelled,
    Completion,
    InvalidReply,
    LocalProtocolError,
    Lost,
    NotSupported,
    Op,
    RpcError,
)
from mcp_sansio._versions import V2024_11_05, V2025_03_26, V2025_06_18


def complete(asking: Asking, value: str = "v", **context: str) -> Op:
    return asking.prompts.complete("a", "x", value, asking.now, context)


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_an_argument_is_completed(version: str) -> None:
    asking = Asking(version)
    op = complete(asking)
    params = asking.one(COMPLETE)["params"]
    assert params["ref"] == {"type": "ref/prompt", "name": "a"}
    assert params["argument"] == {"name": "x", "value": "v"}
    assert "context" not in params
    asking.result(asking.one(COMPLETE), completion={"values": ["va", "vb"], "total": 7, "hasMore": True})
    assert asking.end(op) == ArgumentCompleted(op, Completion(("va", "vb"), 7, True))


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_what_is_known_already_is_sent_where_the_revision_has_a_place_for_it(version: str) -> None:
    asking = Asking(version)
    complete(asking, y="known")
    context = asking.one(COMPLETE)["params"].get("context")
    assert context == (None if version in (V2024_11_05, V2025_03_26) else {"arguments": {"y": "known"}})


@pytest.mark.parametrize("declared", [SILENT, {"prompts": {}, "completions": None}])
@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_completion_is_not_asked_of_a_server_that_did_not_declare_it(
    version: str, declared: dict[str, Any]
) -> None:
    asking = Asking(version, declared=declared)
    op = complete(asking)
    if version == V2024_11_05:  # has no such capability
        asking.refuse(-32601, COMPLETE)
        assert asking.end(op).failure == RpcError(-32601, "no")
    else:
        assert asking.asked(COMPLETE) == []
        assert asking.end(op).failure == NotSupported("completions")


def test_completion_of_prompts_needs_prompts() -> None:
    asking = Asking(declared={"completions": {}})
    assert asking.end(complete(asking)).failure == NotSupported("prompts")


def test_before_the_era_is_known_a_completion_waits_for_what_can_be_sent() -> None:
    for version, context in ((V2025_03_26, None), (V2025_06_18, {"arguments": {"y": "1"}})):
        asking = Asking(version, connect=False)
        op = complete(asking, y="1")
        asking.open()
        assert asking.one(COMPLETE)["params"].get("context") == context
        asking.result(asking.one(COMPLETE), completion={"values": []})
        assert asking.end(op).completion == Completion(())


def test_more_than_a_hundred_values_are_tolerated() -> None:
    asking = Asking()
    op = complete(asking)
    values = [str(number) for number in range(101)]
    asking.result(asking.one(COMPLETE), completion={"values": values})
    assert asking.end(op).completion.values == tuple(values)


@pytest.mark.parametrize(
    ("result", "path"),
    [
        ({}, "completion"),
        ({"completion": None}, "$.completion"),
        ({"completion": {}}, "$.completion"),
        ({"completion": {"values": "va"}}, "$.completion.values"),
        ({"completion": {"values": [5]}}, "$.completion.values[0]"),
    ],
)
def test_a_completion_of_the_wrong_form_fails(result: dict[str, Any], path: str) -> None:
    asking = Asking()
    op = complete(asking)
    asking.result(asking.one(COMPLETE), **result)
    failure = asking.end(op).failure
    assert isinstance(failure, InvalidReply)
    assert path in failure.reason


def test_an_error_to_a_completion_judges_no_name() -> None:
    asking = Asking()
    op = complete(asking)
    asking.refuse(-32602, COMPLETE)
    assert asking.end(op).failure == UNKNOWN
    assert asking.pages() == 0


def test_a_lost_completion_is_lost() -> None:
    asking = Asking()
    op = complete(asking)
    asking.cut()
    assert asking.end(op).failure == Lost("cut")


def test_a_completion_can_be_cancelled() -> None:
    asking = Asking()
    op = complete(asking)
    asking.sent()
    asking.prompts.cancel(op, 0.0)
    assert asking.end(op).failure == Cancelled()
    assert [message["method"] for message in asking.sent()] == ["notifications/cancelled"]


@pytest.mark.parametrize(
    ("name", "argument", "value", "context"),
    [
        (5, "x", "v", None),
        ("a", None, "v", None),
        ("a", "x", True, None),
        ("a", "x", "v", {"y": 5}),
        ("a", "x", "v", {"y": "\ud800"}),
        ("\ud800", "x", "v", {"ref": "y"}),
    ],
)
def test_a_completion_that_cannot_be_sent_is_refused_and_nothing_has_happened(
    name: Any, argument: Any, value: Any, context: Any
) -> None:
    asking = Asking()
    with pytest.raises(LocalProtocolError):
        asking.prompts.complete(name, argument, value, 0.0, context)
    assert asking.sent() == []
    assert complete(asking).number == 1


def test_what_a_layer_hears_of_a_call_that_has_ended_changes_nothing() -> None:
    asking = Asking()
    op = get(asking)
    request = asking.one(GET)
    asking.prompts.cancel(op, 0.0)
    asking.error(request["id"], -32602)
    asking.end(op)
    assert asking.pages() == 0
