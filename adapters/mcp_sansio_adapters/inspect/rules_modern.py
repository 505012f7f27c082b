"""The rules of the modern era: its results and errors, discovery, subscriptions, and demands of input."""

from __future__ import annotations

from mcp_sansio import Era

from . import judges_messages as messages
from . import judges_modern as modern
from .rule import NEW, Rule

MODERN = Era.MODERN
SUBSCRIPTIONS = f"{NEW}/basic/patterns/subscriptions"
ROUNDS = f"{NEW}/basic/patterns/mrtr"
CACHING = f"{NEW}/server/utilities/caching"

MODERN_RULES: tuple[Rule, ...] = (
    Rule(
        "modern.result-type",
        "MUST",
        "gives results without a resultType",
        f"{NEW}/basic",
        "The `result` **MUST** include a `resultType` field",
        modern.no_result_type,
        era=MODERN,
    ),
    Rule(
        "modern.server-info",
        "SHOULD",
        "gives results that do not name the server",
        f"{NEW}/basic",
        "Servers **SHOULD** include the following `io.modelcontextprotocol/*` field in",
        modern.no_server_info,
        era=MODERN,
    ),
    Rule(
        "modern.cache-hints",
        "MUST",
        "gives cacheable results without ttlMs and cacheScope",
        CACHING,
        "Servers MUST include caching hints on results",
        modern.no_hints,
        era=MODERN,
    ),
    Rule(
        "modern.ttl",
        "MUST",
        "gives a ttlMs that is no integer from 0",
        CACHING,
        "Servers **MUST** provide a `ttlMs` value that is `>= 0`.",
        modern.bad_ttl,
        era=MODERN,
    ),
    Rule(
        "modern.cache-scope",
        "MUST",
        "gives a cacheScope that is neither public nor private",
        f"{NEW}/schema",
        'cacheScope: "public" | "private";',
        modern.bad_scope,
        era=MODERN,
    ),
    Rule(
        "modern.mixed-scopes",
        "MUST",
        "gives the pages of a list different cacheScopes",
        CACHING,
        "Servers **MUST** apply the same `cacheScope` to all response pages",
        modern.mixed_scopes,
        era=MODERN,
    ),
    Rule(
        "modern.reserved-code",
        "MUST",
        "uses a reserved error code",
        f"{NEW}/basic",
        "**MUST NOT** emit any code from this sub-range",
        modern.reserved_code,
        era=MODERN,
    ),
    Rule(
        "modern.request",
        "MUST",
        "makes requests of the client",
        f"{NEW}/basic/patterns",
        "Servers **MUST NOT** initiate JSON-RPC requests",
        messages.server_request,
        era=MODERN,
    ),
    Rule(
        "modern.discover",
        "MUST",
        "answers server/discover without supportedVersions or capabilities",
        f"{NEW}/schema",
        "supportedVersions: string[];",
        modern.bad_discovery,
        era=MODERN,
    ),
    Rule(
        "modern.unknown-version",
        "MUST",
        "answers a revision that does not exist with something else than -32022",
        f"{NEW}/basic/versioning",
        "support), it **MUST** respond with an",
        modern.version_accepted,
        era=MODERN,
    ),
    Rule(
        "modern.version-data",
        "MUST",
        "gives -32022 without supported and requested",
        f"{NEW}/schema",
        "Protocol versions the server supports.",
        modern.version_data,
        era=MODERN,
    ),
    Rule(
        "modern.required-meta",
        "MUST",
        "answers a request without clientCapabilities with something else than -32602",
        f"{NEW}/basic",
        "A request missing any required field is malformed; the server **MUST** reject it with",
        modern.malformed_accepted,
        era=MODERN,
    ),
    Rule(
        "subscriptions.tag",
        "MUST",
        "announces changes without their subscription",
        f"{NEW}/basic",
        "the server **MUST** include `io.modelcontextprotocol/subscriptionId` in `_meta`",
        modern.untagged,
        era=MODERN,
    ),
    Rule(
        "subscriptions.first",
        "MUST",
        "announces changes before the acknowledgement",
        SUBSCRIPTIONS,
        "and **MUST NOT** send any notification on the",
        modern.not_acknowledged,
        era=MODERN,
    ),
    Rule(
        "subscriptions.acknowledged",
        "MUST",
        "never acknowledges a subscription",
        SUBSCRIPTIONS,
        "The server **MUST** send `notifications/subscriptions/acknowledged`",
        modern.never_acknowledged,
        era=MODERN,
    ),
    Rule(
        "subscriptions.unwanted",
        "MUST",
        "announces what the subscription did not ask for",
        SUBSCRIPTIONS,
        "The server **MUST NOT** send",
        modern.unwanted,
        era=MODERN,
    ),
    Rule(
        "input.empty",
        "MUST",
        "demands input without inputRequests or requestState",
        ROUNDS,
        "Servers **MUST** include at least one of `inputRequests` or `requestState`",
        modern.empty_input,
        era=MODERN,
    ),
    Rule(
        "input.method",
        "MUST",
        "demands input where there can be none",
        ROUNDS,
        "Servers **MUST NOT** send `InputRequiredResult` responses on any other client requests.",
        modern.misplaced_input,
        era=MODERN,
    ),
    Rule(
        "input.undeclared",
        "MUST",
        "demands input that the client did not say it can give",
        ROUNDS,
        "Servers **MUST NOT** send an `inputRequests` that the client has not declared support for",
        modern.undeclared_input,
        era=MODERN,
    ),
)
"""What holds in the modern era only."""
