"""The rules, in one table: what each is about, and the sentence that it stands on.

The rules of both eras and of the legacy one are here, those of the modern era and of HTTP beside it.
"""

from __future__ import annotations

from mcp_sansio import Era

from . import judges_messages as messages
from . import judges_prompts as prompts
from .rule import NEW, OLD, Rule
from .rules_http import HTTP_RULES
from .rules_modern import MODERN_RULES

LEGACY = Era.LEGACY
BATCHES = "2025-03-26"
RPC = "All messages between MCP clients and servers **MUST** follow the"

RULES: tuple[Rule, ...] = (
    Rule(
        "stdio.noise",
        "MUST",
        "writes to stdout what is no message",
        f"{NEW}/basic/transports/stdio",
        "The server **MUST NOT** write anything to its `stdout` that is not a valid MCP",
        messages.noise,
        carrier="stdio",
    ),
    Rule(
        "jsonrpc.version",
        "MUST",
        "sends messages that do not say jsonrpc 2.0",
        f"{NEW}/basic",
        RPC,
        messages.other_version,
    ),
    Rule(
        "jsonrpc.result",
        "MUST",
        "sends replies whose result is no object, or that have an error, too",
        f"{NEW}/basic",
        "Result responses **MUST** include a `result` field.",
        messages.result_and_error,
    ),
    Rule(
        "jsonrpc.error",
        "MUST",
        "sends errors without an integer code and a message",
        f"{NEW}/basic",
        "Error responses **MUST** include an `error` field with a `code` and `message`.",
        messages.bad_error,
    ),
    Rule(
        "jsonrpc.reply-id",
        "MUST",
        "replies with an id of no open request",
        f"{NEW}/basic",
        "Result responses **MUST** include the same ID as the request they correspond to.",
        messages.wrong_id,
    ),
    Rule(
        "jsonrpc.no-reply",
        "MUST",
        "leaves a request without an answer",
        f"{NEW}/basic",
        RPC,
        messages.no_answer,
    ),
    Rule(
        "jsonrpc.null-id",
        "MUST",
        "makes a request whose id is neither integer nor string",
        f"{NEW}/basic",
        "Requests **MUST** include a string or integer ID.",
        messages.null_id,
    ),
    Rule(
        "jsonrpc.unknown-method",
        "MUST",
        "answers an unknown method with something else than -32601",
        f"{NEW}/basic",
        RPC,
        messages.unknown_method,
    ),
    Rule(
        "jsonrpc.answered-notification",
        "MUST",
        "answers a notification",
        f"{NEW}/basic",
        "The receiver **MUST NOT** send a response.",
        messages.answered_notification,
        carrier="stdio",
    ),
    Rule(
        "prompts.declared",
        "MUST",
        "has prompts that it does not declare",
        f"{NEW}/server/prompts",
        "Servers that support prompts **MUST** declare the `prompts` capability",
        prompts.undeclared_prompts,
    ),
    Rule(
        "prompts.list",
        "MUST",
        "lists prompts in another form than an array of objects with names",
        f"{NEW}/schema",
        "prompts: Prompt[];",
        prompts.bad_list,
    ),
    Rule(
        "prompts.next-cursor",
        "MUST",
        "gives a nextCursor that is no string",
        f"{NEW}/schema",
        "nextCursor?: Cursor;",
        prompts.bad_cursor,
    ),
    Rule(
        "prompts.unique",
        "MUST",
        "lists a name twice on one page",
        f"{NEW}/server/prompts",
        "`name`: Unique identifier for the prompt",
        prompts.twice_on_a_page,
    ),
    Rule(
        "prompts.unique-pages",
        "MUST",
        "lists a name on several pages, every time",
        f"{NEW}/server/prompts",
        "`name`: Unique identifier for the prompt",
        prompts.twice_in_a_list,
    ),
    Rule(
        "prompts.invalid-cursor",
        "SHOULD",
        "answers a cursor that it never gave with something else than -32602",
        f"{NEW}/server/utilities/pagination",
        "Invalid cursors **SHOULD** result in an error with code -32602",
        prompts.foreign_cursor,
    ),
    Rule(
        "prompts.unknown-name",
        "SHOULD",
        "answers an unknown prompt with something else than -32602",
        f"{NEW}/server/prompts",
        "Invalid prompt name: `-32602` (Invalid params)",
        prompts.unknown_name,
    ),
    Rule(
        "prompts.missing-argument",
        "SHOULD",
        "answers a missing required argument with something else than -32602",
        f"{NEW}/server/prompts",
        "Missing required arguments: `-32602` (Invalid params)",
        prompts.missing_argument,
    ),
    Rule(
        "prompts.argument-type",
        "SHOULD",
        "renders a prompt with an argument that is no string",
        f"{NEW}/server/prompts",
        "Servers **SHOULD** validate prompt arguments before processing",
        prompts.wrong_type,
    ),
    Rule(
        "prompts.message",
        "MUST",
        "renders messages whose role or content is of no known form",
        f"{NEW}/server/prompts",
        '`role`: Either "user" or "assistant" to indicate the speaker',
        prompts.bad_message,
    ),
    Rule(
        "prompts.list-changed",
        "MUST",
        "announces changes without having declared listChanged",
        f"{OLD}/basic/lifecycle",
        "Only use capabilities that were successfully negotiated",
        prompts.undeclared_change,
        era=LEGACY,
    ),
    Rule(
        "completion.values",
        "MUST",
        "proposes more than 100 values",
        f"{NEW}/schema",
        "Must not exceed 100 items.",
        prompts.too_many_values,
    ),
    Rule(
        "completion.declared",
        "MUST",
        "completes without having declared completions",
        f"{NEW}/server/utilities/completion",
        "Servers that support completions **MUST** declare the `completions` capability",
        prompts.undeclared_completion,
        since="2025-03-26",
    ),
    Rule(
        "ping.empty",
        "MUST",
        "answers a ping with something else than an empty result",
        f"{OLD}/basic/utilities/ping",
        "The receiver **MUST** respond promptly with an empty response",
        prompts.bad_ping,
        era=LEGACY,
    ),
    Rule(
        "initialize.result",
        "MUST",
        "answers initialize without capabilities or identity",
        f"{OLD}/basic/lifecycle",
        "The server **MUST** respond with its own capabilities and information",
        prompts.bad_welcome,
        era=LEGACY,
    ),
    Rule(
        "legacy.undeclared-request",
        "MUST",
        "asks for what the client did not declare",
        f"{OLD}/basic/lifecycle",
        "Only use capabilities that were successfully negotiated",
        messages.undeclared_request,
        era=LEGACY,
    ),
    Rule(
        "initialize.version",
        "MUST",
        "agrees to a revision that does not exist",
        f"{OLD}/basic/lifecycle",
        "Otherwise, the server **MUST** respond with another protocol version it",
        prompts.bad_version,
        era=LEGACY,
    ),
    Rule(
        "jsonrpc.batch",
        "MUST",
        "does not answer the requests of a batch",
        f"{BATCHES}/basic",
        "but **MUST** support receiving JSON-RPC batches",
        messages.batch_unanswered,
        only=BATCHES,
    ),
    *MODERN_RULES,
    *HTTP_RULES,
)
"""All rules, in the order in which findings are shown."""
