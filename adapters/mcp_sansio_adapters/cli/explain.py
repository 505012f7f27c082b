"""What went wrong, in one line that says what to do, and as an exit code."""

from __future__ import annotations

import difflib
import enum
import errno
import re
import socket
from collections.abc import Mapping

from mcp_sansio import (
    Failure,
    HttpFailed,
    InvalidReply,
    LocalProtocolError,
    McpError,
    Prompt,
    Snapshot,
    TimedOut,
    WalkFailed,
)
from mcp_sansio_adapters._exceptions import (
    CannotListen,
    ConnectionFailed,
    PromptGoneError,
    RequestFailed,
    describe_exit,
)

from .servers import Question


class Exit(enum.IntEnum):
    """The exit codes of all commands."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    NO_SERVER = 3
    BAD_ANSWER = 4
    BUG = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141


def exit_code(error: McpError) -> Exit:
    """What a failure means for the caller's shell."""
    if isinstance(error, LocalProtocolError):
        return Exit.USAGE
    if isinstance(error, ConnectionFailed):
        return Exit.NO_SERVER
    failure = _cause(error)
    if isinstance(failure, InvalidReply):
        return Exit.BAD_ANSWER
    return Exit.NO_SERVER if isinstance(failure, TimedOut) else Exit.REFUSED


def _cause(error: McpError) -> Failure | None:
    """Why a request failed."""
    failure = error.failure if isinstance(error, RequestFailed) else None
    if isinstance(failure, WalkFailed):
        return failure.failure or InvalidReply("the list does not end")
    return failure


def explain(error: McpError, question: Question | None = None) -> str:
    """A failure as a sentence that says what to do. `question` is what was asked."""
    url = question is not None and question.server.url is not None
    if isinstance(error, CannotListen):
        return f"choose another --http: {error}"
    if isinstance(error, ConnectionFailed):
        where = _check(error.reason) if url or question is None else question.origin
        last = error.stderr_tail.strip().rpartition("\n")[2]
        exited = "" if error.exit_code is None else f" ({describe_exit(error.exit_code)})"
        said = f"; it said: {last}" if last else ""
        return f"no server, check {where}: {error.reason}{exited}{said}"
    if isinstance(error, PromptGoneError):
        close = difflib.get_close_matches(error.name, error.snapshot.by_name, 1)
        hint = f"did you mean {close[0]!r}?" if close else "`mcp-sansio list` shows what there is"
        return f"the server has no prompt {error.name!r}; {hint}"
    if url and isinstance(_cause(error), HttpFailed):
        return f"{error}; check {_check(str(error))}"
    return str(error)


_CHECKS = (
    (rf"\[Errno {errno.ECONNREFUSED}\]", "the port of the URL, and whether the server runs"),
    (rf"\[Errno ({socket.EAI_NONAME}|{socket.EAI_AGAIN}|{socket.EAI_NODATA})\]", "the host of the URL"),
    (r"CERTIFICATE_VERIFY_FAILED", "its certificate (SSL_CERT_FILE names whom to trust)"),
    (r"\[SSL: (WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE)\]", "whether it is http:// rather than https://"),
    (r"HTTP (403|421)\b.*\bHost\b", "by which names it may be reached (of `serve`: --allow-host)"),
    (r"HTTP 40[13]\b", "whether it knows you (--header 'Authorization: …')"),
    (r"HTTP 5\d\d\b", "whether the server is well"),
    (r"redirects to", "the URL, for it leads elsewhere"),
    (r"a web page", "the path of the URL, for what is there is a web page"),
    (r"HTTP 40[45]\b", "the path of the URL"),
    (r"", "the URL"),
)
"""What to look at first, by what the reason says; of several the first counts."""


def _check(reason: str) -> str:
    """What may be wrong with a URL."""
    return next(what for pattern, what in _CHECKS if re.search(pattern, reason))


def needed(snapshot: Snapshot | None, name: str, given: Mapping[str, str]) -> str:
    """What to add to a command that was refused: the required arguments that it left out, if it did."""
    prompt: Prompt | None = None if snapshot is None else snapshot.by_name.get(name)
    arguments = () if prompt is None else prompt.arguments
    missing = [each.name for each in arguments if each.required and each.name not in given]
    return "".join(f" --arg {name}=…" for name in missing)
