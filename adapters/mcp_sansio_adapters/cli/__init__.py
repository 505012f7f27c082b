"""The console script `mcp-sansio`, which says what to install where the extra `cli` is missing."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process."""
    try:
        from .app import run  # noqa: PLC0415  # what it needs may not be there
    except ModuleNotFoundError as error:
        sys.stderr.write(f"mcp-sansio: {error.name} is missing: pip install 'mcp-sansio[cli]'\n")
        sys.exit(70)
    sys.exit(run(sys.argv[1:]))
