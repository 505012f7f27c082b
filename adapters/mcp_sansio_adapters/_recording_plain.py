"""What a recording has of values that are no JSON: configs, prompts, and what an application answered."""

from __future__ import annotations

from typing import Any, Final

import attrs

from mcp_sansio import AskInput, ClientConfig, Completion, Entry, Limits, LocalProtocolError, RpcError
from mcp_sansio._content import as_result
from mcp_sansio._structure import unstructure_typed
from mcp_sansio._versions import ALL_VERSIONS

NEWEST: Final = ALL_VERSIONS[-1]


def plain_argument(value: Any) -> Any:
    """An argument of a command."""
    return attrs.asdict(value) if isinstance(value, Limits) else value


def plain_config(config: ClientConfig) -> dict[str, Any]:
    """A client's config, but for the functions in it and what is only worth something to this server."""
    left_out = attrs.fields(ClientConfig).jitter, attrs.fields(ClientConfig).verdict
    plain = attrs.asdict(config, filter=lambda field, _: field not in left_out)
    return plain | {"info": unstructure_typed(config.info, NEWEST)}


def plain_entry(entry: Entry) -> dict[str, Any]:
    """A prompt, and what there is to propose for its arguments: None where that is a function's to say."""
    completers = {name: None if callable(each) else [*each] for name, each in entry.completers.items()}
    return {"prompt": unstructure_typed(entry.prompt, NEWEST), "completers": completers}


def plain_answer(method: str, value: Any) -> dict[str, Any]:
    """What an application answered, in a form that can be written."""
    match value:
        case RpcError():
            plain: dict[str, Any] = {"error": attrs.asdict(value)}
        case AskInput():
            plain = {"ask": attrs.asdict(value)["requests"], "state": value.state}
        case Completion():
            plain = {"completion": attrs.asdict(value)}
        case _ if method == "prompts/get":
            plain = plain_prompt(value)
        case _:
            plain = {"values" if method == "completion/complete" else "result": value}
    return plain


def plain_prompt(rendered: Any) -> dict[str, Any]:
    """A rendered prompt; why it is none, if it is none."""
    try:
        return {"result": unstructure_typed(as_result(rendered), NEWEST)}
    except LocalProtocolError as error:
        return {"failed": str(error)}
