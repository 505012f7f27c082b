"""Worlds over HTTP/1.1, which need the extra `http`.

Our client and server as nodes that speak it byte for byte, the faults of exchanges, and the standard loads.
"""

from ._http.faults import EXCHANGES, HTTP
from ._http.lies import PEER_HTTP
from ._http.nodes import HttpClientNode, HttpServerNode
from ._http.scenarios import OFFICE_HOUR_HTTP, TORTURE_HTTP

__all__ = [
    "EXCHANGES",
    "HTTP",
    "OFFICE_HOUR_HTTP",
    "PEER_HTTP",
    "TORTURE_HTTP",
    "HttpClientNode",
    "HttpServerNode",
]
