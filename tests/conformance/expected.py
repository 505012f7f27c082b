"""What the official conformance suite has to say about each scenario, check by check.

A check is named by its id; where the suite uses one id for several, its name follows after a slash; where
the same one comes several times, it stands here as often. All of them have to succeed: the suite itself
counts neither warnings nor what it skipped, and a scenario that checks nothing as passed. Taken from what
the suite emits, and compared with its sources (0.2.0-alpha.12).
"""

from __future__ import annotations

import attrs

JUNE, NOVEMBER, MODERN = "2025-06-18", "2025-11-25", "2026-07-28"
WIRES = (JUNE, NOVEMBER, MODERN)
SCHEMA = "wire-schema-valid"
"""That every message that was seen is valid by the revision's JSON schema."""


@attrs.frozen
class Scenario:
    """One scenario: the wires on which it is run, and what it has to check.

    `streamed` are checks that are made only where replies are streams of events. With `timed` the suite
    measures how quickly something happens, so that a busy machine can fail it.
    """

    name: str
    wires: tuple[str, ...]
    checks: tuple[str, ...]
    streamed: tuple[str, ...] = ()
    timed: bool = False

    def expected(self, reply: str) -> tuple[str, ...]:
        """The checks that must succeed with this form of reply."""
        return self.checks + (self.streamed if reply == "sse" else ())


def _named(id: str, *names: str) -> tuple[str, ...]:
    """Checks that share an id."""
    return tuple(f"{id}/{name}" for name in names)


def _input_required(name: str, *checks: str) -> Scenario:
    """A scenario of multi round trips."""
    return Scenario(f"input-required-result-{name}", (MODERN,), (*checks, SCHEMA))


_MISHEADED = (
    "ServerRejectsMismatchedMethodHeader",
    "ServerRejectsMissingMethodHeader",
    "ServerRejectsMismatchedNameHeader",
    "ServerRejectsMissingNameHeader",
    "ServerRejectsCaseMismatchValue",
)

SERVER = (
    Scenario(
        "server-initialize",
        (JUNE, NOVEMBER),
        ("server-initialize", "server-session-id-visible-ascii", SCHEMA),
    ),
    Scenario(
        "server-session-lifecycle",
        (JUNE, NOVEMBER),
        (
            "server-session-initialized-accepted",
            "server-session-delete-accepted",
            "server-session-terminated-returns-404",
        ),
    ),
    Scenario("ping", (JUNE, NOVEMBER), ("ping", SCHEMA)),
    Scenario("prompts-list", WIRES, ("prompts-list", SCHEMA)),
    Scenario("prompts-get-simple", WIRES, ("prompts-get-simple", SCHEMA)),
    Scenario("prompts-get-with-args", WIRES, ("prompts-get-with-args", SCHEMA)),
    Scenario("prompts-get-embedded-resource", WIRES, ("prompts-get-embedded-resource", SCHEMA)),
    Scenario("prompts-get-with-image", WIRES, ("prompts-get-with-image", SCHEMA)),
    Scenario("completion-complete", WIRES, ("completion-complete", SCHEMA)),
    Scenario(
        "dns-rebinding-protection",
        (NOVEMBER, MODERN),
        ("localhost-host-rebinding-rejected", "localhost-host-valid-accepted"),
    ),
    Scenario(
        "server-sse-multiple-streams",
        (NOVEMBER, MODERN),
        ("server-accepts-multiple-post-streams",),
        streamed=("server-sse-streams-functional",),
    ),
    Scenario(
        "server-stateless",
        (MODERN,),
        (
            "sep-2575-request-meta-invalid-missing-meta",
            "sep-2575-request-meta-invalid-missing-protocol-version",
            "sep-2575-request-meta-invalid-missing-client-capabilities",
            *("sep-2575-http-server-meta-invalid-400",) * 3,
            "sep-2575-request-meta-client-info-optional",
            "sep-2575-server-implements-discover",
            "sep-2575-server-identifies-in-result-meta",
            "sep-2575-server-declares-prompts-in-discover",
            "sep-2575-discover-capabilities-match-handlers",
            "sep-2575-server-unsupported-version-error",
            "sep-2575-http-server-unsupported-version-400",
            "sep-2575-http-server-header-mismatch-400",
            "sep-2575-server-rejects-undeclared-capability",
            "sep-2575-missing-capability-http-400",
            "sep-2575-http-server-method-not-found-404-initialize",
            "sep-2575-http-server-method-not-found-404-ping",
            "sep-2575-http-server-method-not-found-404-logging-setlevel",
            "sep-2575-http-server-method-not-found-404-resources-subscribe",
            "sep-2575-http-server-method-not-found-404-resources-unsubscribe",
            "sep-2575-http-server-method-not-found-404",
            "sep-2575-http-server-no-independent-requests-on-stream",
            "sep-2575-server-no-log-without-loglevel",
            "sep-2575-server-sends-subscription-ack",
            "sep-2575-server-tags-subscription-id",
            "sep-2575-server-honors-notification-filter",
            "sep-2575-server-sends-prompts-list-changed-on-subscription",
            "sep-2575-server-sends-tools-list-changed-on-subscription",
            "sep-2575-http-server-error-jsonrpc-id",
        ),
        timed=True,
    ),
    Scenario(
        "caching",
        (MODERN,),
        (
            "sep-2549-tools-list-caching-hints",
            "sep-2549-prompts-list-caching-hints",
            "sep-2549-resources-list-caching-hints",
            "sep-2549-resources-templates-list-caching-hints",
            "sep-2549-resources-read-caching-hints",
            "sep-2549-ttl-non-negative",
            "sep-2549-cache-scope-valid",
            SCHEMA,
        ),
    ),
    Scenario(
        "http-header-validation",
        (MODERN,),
        (
            *_named("sep-2243-server-reject-invalid-headers", *_MISHEADED),
            *_named("sep-2243-server-reject-error-code", *(f"{name}ErrorCode" for name in _MISHEADED)),
            *_named(
                "sep-2243-header-name-case-insensitive",
                "ServerAcceptsLowercaseHeaderName",
                "ServerAcceptsUppercaseHeaderName",
            ),
            "sep-2243-server-accepts-whitespace-header-value",
            SCHEMA,
        ),
    ),
    _input_required("basic-elicitation", "sep-2322-elicitation-incomplete", "sep-2322-elicitation-complete"),
    _input_required("basic-sampling", "sep-2322-sampling-incomplete", "sep-2322-sampling-complete"),
    _input_required("basic-list-roots", "sep-2322-list-roots-incomplete", "sep-2322-list-roots-complete"),
    _input_required("request-state", "sep-2322-request-state-incomplete", "sep-2322-request-state-complete"),
    _input_required(
        "multiple-input-requests",
        "sep-2322-multiple-inputs-incomplete",
        "sep-2322-multiple-inputs-complete",
    ),
    _input_required(
        "multi-round", "sep-2322-multi-round-r1", "sep-2322-multi-round-r2", "sep-2322-multi-round-r3"
    ),
    _input_required("missing-input-response", "sep-2322-missing-response-rerequests"),
    _input_required("non-tool-request", "sep-2322-non-tool-incomplete", "sep-2322-non-tool-complete"),
    _input_required("result-type", "sep-2322-result-type-included"),
    _input_required("unsupported-methods", "sep-2322-not-on-unsupported-requests"),
    _input_required("tampered-state", "sep-2322-reject-tampered-state"),
    _input_required("capability-check", "sep-2322-respect-client-capabilities"),
    _input_required("ignore-extra-params", "sep-2322-ignore-unexpected-params"),
    _input_required(
        "validate-input", "sep-2322-validate-input-responses", "sep-2322-error-on-protocol-error"
    ),
)

CLIENT = (
    Scenario("initialize", (JUNE, NOVEMBER), ("mcp-client-initialization",)),
    Scenario(
        "sse-retry",
        (NOVEMBER,),
        ("client-sse-graceful-reconnect", "client-sse-retry-timing", "client-sse-last-event-id"),
        timed=True,
    ),
    Scenario(
        "request-metadata",
        (MODERN,),
        (
            "sep-2575-http-client-sends-version-header",
            "sep-2575-client-populates-meta",
            "sep-2575-client-sends-client-info",
            "sep-2575-http-version-header-matches-meta",
            "sep-2575-client-declares-roots-capability",
            "sep-2575-client-declares-sampling-capability",
            "sep-2575-client-declares-elicitation-capability",
            "sep-2575-client-retry-supported-version",
        ),
    ),
    Scenario(
        "http-standard-headers",
        (MODERN,),
        _named(
            "sep-2243-client-includes-standard-headers",
            "ClientMcpMethodHeader_tools_list",
            "ClientMcpMethodHeader_tools_call",
            "ClientMcpMethodHeader_resources_list",
            "ClientMcpMethodHeader_resources_read",
            "ClientMcpMethodHeader_prompts_list",
            "ClientMcpMethodHeader_prompts_get",
            "ClientMcpNameHeader_tools_call",
            "ClientMcpNameHeader_resources_read",
            "ClientMcpNameHeader_prompts_get",
        ),
    ),
    Scenario(
        "sep-2322-client-request-state",
        (MODERN,),
        (
            "sep-2322-client-request-state-echoed",
            "sep-2322-client-jsonrpc-id-different",
            "sep-2322-client-no-state-omitted",
            *("sep-2322-client-parallel-isolation",) * 2,
            "sep-2322-default-result-type-complete",
        ),
    ),
)
