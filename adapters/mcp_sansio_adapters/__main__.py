"""`python -m mcp_sansio_adapters` is the command `mcp-sansio`."""

from .cli import main

main()
