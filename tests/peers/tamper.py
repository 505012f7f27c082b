"""A stdio server that is another one with its traffic tampered with, to see who notices.

It starts the command after `--`, hands every line on in both directions, and changes or drops those that its
options name. So any server, ours too, can be made to be silent about changes, to ignore cursors, to serve old
pages or to die.
"""

import argparse
import json
import subprocess
import sys
import threading
from typing import IO, Any

Json = dict[str, Any]


class Tamper:
    """What is done to each message; one that comes back as None is dropped."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.requests = 0
        self.pages: dict[Any, Json] = {}
        self.asked: dict[Any, Any] = {}

    def to_server(self, message: Json) -> Json | None:
        """Change a message of the client; raises `SystemExit` when it is time to die."""
        if "id" in message and "method" in message:
            self.requests += 1
            if self.requests == self.options.die_at:
                sys.exit(self.options.exit_code)
        if message.get("method") == "prompts/list":
            params = message.get("params", {})
            if self.options.ignore_cursors:
                params.pop("cursor", None)
            self.asked[message["id"]] = params.get("cursor")
        return message

    def to_client(self, message: Json) -> Json | None:
        """Change a message of the server."""
        if self.options.quiet and message.get("method") == "notifications/prompts/list_changed":
            return None
        if self.options.stale and message.get("id") in self.asked and "result" in message:
            cursor = self.asked.pop(message["id"])
            message["result"] = self.pages.setdefault(cursor, message["result"])
        return message


def pass_on(source: IO[bytes], sink: IO[bytes], change: Any) -> None:
    """Hand on lines, changed, until the source ends; then close the sink."""
    for line in source:
        changed = change(json.loads(line))
        if changed is not None:
            sink.write(json.dumps(changed).encode() + b"\n")
            sink.flush()
    sink.close()


def main() -> None:
    """Read the command line, start the server and stand between it and the client."""
    parser = argparse.ArgumentParser(description=__doc__)
    option = parser.add_argument
    option("--quiet", action="store_true", help="drop every list_changed")
    option("--ignore-cursors", action="store_true", help="ask the server for its first page always")
    option("--stale", action="store_true", help="answer with the first result that each cursor had")
    option("--die-at", type=int, metavar="N", help="kill the server and exit on the Nth request")
    option("--exit-code", type=int, default=1)
    option("command", nargs="+")
    options = parser.parse_args()
    tamper = Tamper(options)
    with subprocess.Popen(options.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        back = threading.Thread(
            target=pass_on, args=(server.stdout, sys.stdout.buffer, tamper.to_client), daemon=True
        )
        back.start()
        try:
            pass_on(sys.stdin.buffer, server.stdin, tamper.to_server)
        except (SystemExit, BrokenPipeError):
            server.kill()
            raise
        back.join()
    sys.exit(server.returncode)


if __name__ == "__main__":
    main()
