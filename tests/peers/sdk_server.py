"""A server on the official SDK, over stdio or HTTP, to test clients against.

It is the SDK's low-level server over the prompts of `registry.py`, in pages. What a test cannot reach from
outside the process it reaches through prompts that no list shows: one changes the registry (and the server
notifies, in the way of the era), one never answers, one asks for input first (modern era only), one tells
what the server holds. An era is forced by choosing the SDK's loop, a revision by narrowing what that loop may
negotiate; `sdk_http.py` has what HTTP adds.
"""

import argparse
import json
from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server import runner
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from registry import (
    ASK,
    CONTROL,
    FORGET,
    HANG,
    POLL,
    STATE,
    MissingArgumentError,
    Registry,
    UnknownPromptError,
)
from sdk_http import HttpSide

Context = Any  # the SDK's request context, generic in a lifespan that this server does not have


def refusal(error: UnknownPromptError | MissingArgumentError) -> MCPError:
    """Both are -32602, as the specification has it; message and data tell them apart."""
    what = "Unknown prompt" if isinstance(error, UnknownPromptError) else "Missing required argument"
    return MCPError(types.INVALID_PARAMS, f"{what}: {error.args[0]}", {"reason": what, "name": error.args[0]})


def message(text: str) -> types.GetPromptResult:
    """A result of one user message."""
    content = types.TextContent(type="text", text=text)
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


def question() -> types.InputRequiredResult:
    """Ask for a topic, with a form."""
    schema = {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]}
    form = types.ElicitRequestFormParams(message="What about?", requested_schema=schema)
    requests: dict[str, types.InputRequest] = {"topic": types.ElicitRequest(params=form)}
    return types.InputRequiredResult(input_requests=requests, request_state="asked")


class Peer:
    """The handlers of the server, and what they share."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.registry = Registry(options.prompts)
        self.bus = InMemorySubscriptionBus()
        self.hanging = 0
        self.http = HttpSide()

    async def list(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """One page. A cursor is the revision of the list and an offset into it."""
        revision, offset = self.position(params.cursor if params is not None else None)
        if self.options.strict_cursors and revision != self.registry.revision:
            raise MCPError(types.INVALID_PARAMS, "The cursor has expired")
        shown = self.registry.list()
        end = offset + self.options.page
        if offset == self.options.change_at:
            self.options.change_at = None
            await self.change(context, op="add", name="added-meanwhile")
        return types.ListPromptsResult(
            prompts=[types.Prompt.model_validate(each) for each in shown[offset:end]],
            next_cursor=f"{revision}:{end}" if end < len(shown) else None,
            ttl_ms=self.options.ttl,
        )

    def position(self, cursor: str | None) -> tuple[int, int]:
        """Where a cursor stands; without one, at the start of the list as it is."""
        if cursor is None:
            return self.registry.revision, 0
        try:
            revision, offset = map(int, cursor.split(":"))
        except ValueError as error:
            raise MCPError(types.INVALID_PARAMS, "No such cursor") from error
        return revision, offset

    async def change(self, context: Context, op: str, name: str, value: str = "", times: str = "1") -> None:
        """Change the registry and say so each time: on the connection, or on the listen streams."""
        for _ in range(int(times)):
            self.registry.change(op, name, value)
            if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                await self.bus.publish(PromptsListChanged())
            else:
                await context.session.send_prompt_list_changed()

    async def get(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Render a prompt, or do what a hidden one stands for."""
        arguments = params.arguments or {}
        if params.name == HANG:
            await self.hang()
        if params.name == ASK:
            if params.input_responses is None:
                return question()
            answer = params.input_responses["topic"].model_dump_json(exclude_none=True)
            return message(f"{params.request_state}: {answer}")
        try:
            return message(await self.text(context, params.name, arguments))
        except (UnknownPromptError, MissingArgumentError) as error:
            raise refusal(error) from error

    async def text(self, context: Context, name: str, arguments: Mapping[str, str]) -> str:
        """The text of a prompt; getting a hidden one has an effect."""
        if name == STATE:
            return json.dumps({"hanging": self.hanging, "sessions": len(self.http.sessions())})
        if name == FORGET:
            return f"ended {await self.http.forget()}"
        if name == POLL:
            await context.close_sse_stream()
            return "polled"
        if name == CONTROL:
            await self.change(context, **arguments)
            return f"revision {self.registry.revision}"
        return self.registry.render(name, arguments)

    async def hang(self) -> None:
        """Wait until the SDK cancels the handler, if it does."""
        self.hanging += 1
        try:
            await anyio.sleep_forever()
        finally:
            self.hanging -= 1

    async def complete(self, _context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Complete an argument of a prompt; nothing else is here to complete."""
        if not isinstance(params.ref, types.PromptReference):
            raise MCPError(types.INVALID_PARAMS, "Only arguments of prompts can be completed")
        try:
            values = self.registry.complete(params.ref.name, params.argument.name, params.argument.value)
        except UnknownPromptError as error:
            raise refusal(error) from error
        found = types.Completion(values=[*values], total=len(values), has_more=False)
        return types.CompleteResult(completion=found)


def force(revision: str) -> str:
    """Make the SDK negotiate this revision and no other, whatever a client asks for; returns its era."""
    if revision in MODERN_PROTOCOL_VERSIONS:
        return "modern"
    vars(runner).update(HANDSHAKE_PROTOCOL_VERSIONS=(revision,), LATEST_HANDSHAKE_VERSION=revision)
    return "legacy"


class Declaring(Server[Any]):
    """Over HTTP the SDK offers no way to declare `listChanged`; here it is declared unless a test objects."""

    declared = True

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *args: Any, **named: Any
    ) -> InitializationOptions:
        declared = NotificationOptions(prompts_changed=self.declared)
        return super().create_initialization_options(notification_options or declared, *args, **named)


def made(options: argparse.Namespace) -> tuple[Peer, Declaring]:
    """The server, and what is behind it."""
    peer = Peer(options)
    server = Declaring(
        "sdk-peer",
        version="1.0",
        instructions="A peer for tests.",
        on_list_prompts=peer.list,
        on_get_prompt=peer.get,
        on_completion=peer.complete,
        on_subscriptions_listen=None if options.no_listen else ListenHandler(peer.bus),
    )
    server.declared = not options.undeclared
    return peer, server


async def serve(options: argparse.Namespace) -> None:
    """Serve HTTP until killed, or one connection over stdio: the SDK's own loop takes the client's era, the
    others know one era each.
    """
    peer, server = made(options)
    if options.http:
        await peer.http.serve(server, options)
        return
    async with stdio_server() as (read, write):
        if options.era == "legacy":
            await runner.serve_loop(server, read, write, lifespan_state={})
        elif options.era == "modern":
            await runner._serve_modern_stream(  # noqa: SLF001  (nothing public serves this era alone)
                server, read, write, lifespan_state={}, raise_exceptions=False
            )
        else:
            await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Read the command line and serve: stdio until the client closes our input, HTTP until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    option = parser.add_argument
    option("--prompts", type=int, default=137, help="how many prompts to serve")
    option("--page", type=int, default=10, help="prompts per page")
    option("--era", choices=("both", "legacy", "modern"), default="both")
    option("--revision", help="negotiate this revision only (decides the era)")
    option("--ttl", type=int, default=0, help="ttlMs of list results, in milliseconds (modern era)")
    option("--strict-cursors", action="store_true", help="a cursor expires when the list changes")
    option("--change-at", type=int, help="add a prompt, once, while the page at this offset is served")
    option("--undeclared", action="store_true", help="send list_changed without declaring it (legacy era)")
    option("--no-listen", action="store_true", help="know no subscriptions/listen (modern era)")
    option("--http", action="store_true", help="serve HTTP; the first line of output is the URL")
    option("--port", type=int, default=0, help="where to listen; 0 is any free port")
    option("--stateless", action="store_true", help="keep no sessions (legacy era, HTTP)")
    option(
        "--resumable",
        action="store_true",
        help="keep events, to go on with after a stream (legacy era, HTTP)",
    )
    option(
        "--json", action="store_true", help="answer with JSON instead of SSE where there is a choice (HTTP)"
    )
    options = parser.parse_args()
    if options.revision:
        options.era = force(options.revision)
    anyio.run(serve, options)


if __name__ == "__main__":
    main()
