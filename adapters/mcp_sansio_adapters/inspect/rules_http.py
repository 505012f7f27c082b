"""The rules of HTTP: statuses, content types, headers, sessions."""

from __future__ import annotations

from mcp_sansio import Era

from . import judges_http as http
from .rule import NEW, OLD, Rule

LEGACY, MODERN = Era.LEGACY, Era.MODERN
STREAMABLE = "2025-03-26"
"""The revision that this transport came with."""
VERSIONED = "2025-06-18"
"""The revision that the header with the revision came with."""
OLD_PAGE, NEW_PAGE = f"{OLD}/basic/transports", f"{NEW}/basic/transports/streamable-http"

HTTP_RULES: tuple[Rule, ...] = (
    Rule(
        "http.content-type",
        "MUST",
        "answers a request with something else than JSON or a stream of events",
        NEW_PAGE,
        "`Content-Type: text/event-stream` (an SSE response stream)",
        http.content_type,
        since=STREAMABLE,
        carrier="http",
    ),
    Rule(
        "http.notification",
        "MUST",
        "accepts a notification with another status than 202",
        NEW_PAGE,
        "If the server accepts it, the server **MUST** return HTTP status code",
        http.notification_status,
        since=STREAMABLE,
        carrier="http",
    ),
    Rule(
        "http.origin",
        "MUST",
        "serves pages from elsewhere, being a server of this machine",
        NEW_PAGE,
        "Servers **MUST** validate the `Origin` header on all incoming connections",
        http.origin,
        since=STREAMABLE,
        carrier="http",
    ),
    Rule(
        "http.session-id",
        "MUST",
        "gives session ids of other than visible ASCII characters",
        OLD_PAGE,
        "The session ID **MUST** only contain visible ASCII characters",
        http.session_id,
        era=LEGACY,
        since=STREAMABLE,
        carrier="http",
    ),
    Rule(
        "http.ended-session",
        "MUST",
        "serves requests in a session that was ended",
        OLD_PAGE,
        "The server **MAY** terminate the session at any time, after which it **MUST** respond",
        http.ended_session,
        era=LEGACY,
        since=STREAMABLE,
        carrier="http",
    ),
    Rule(
        "http.get",
        "MUST",
        "answers GET with neither a stream of events nor 405",
        OLD_PAGE,
        "The server **MUST** either return `Content-Type: text/event-stream` in response to",
        http.get_stream,
        era=LEGACY,
        since=STREAMABLE,
        carrier="http",
    ),
    Rule(
        "http.unknown-version",
        "MUST",
        "answers the header of a revision that does not exist with another status than 400",
        OLD_PAGE,
        "`MCP-Protocol-Version`, it **MUST** respond with `400 Bad Request`",
        http.version_header,
        era=LEGACY,
        since=VERSIONED,
        carrier="http",
    ),
    Rule(
        "http.unknown-method",
        "MUST",
        "refuses an unknown method with another status than 404",
        NEW_PAGE,
        "If the server does not implement the requested RPC method, it **MUST** respond",
        http.unknown_method_status,
        era=MODERN,
        carrier="http",
    ),
    Rule(
        "http.error-status",
        "MUST",
        "gives an error that is 400 by definition another status",
        NEW_PAGE,
        "return HTTP status `400 Bad Request` and **MUST** include a JSON-RPC error",
        http.error_status,
        era=MODERN,
        carrier="http",
    ),
    Rule(
        "http.malformed",
        "MUST",
        "refuses a request without clientCapabilities with another status than 400",
        f"{NEW}/basic",
        "On HTTP, the response status **MUST** be",
        http.malformed_status,
        era=MODERN,
        carrier="http",
    ),
    Rule(
        "http.header-mismatch",
        "MUST",
        "takes headers that contradict the body",
        NEW_PAGE,
        "Servers that process the request body **MUST** reject requests where the",
        http.header_mismatch,
        era=MODERN,
        carrier="http",
    ),
)
"""What holds over HTTP only."""
