"""Worlds over HTTP/1.1, which need the extra `http`.

Our client and server as nodes that speak it byte for byte, the faults of exchanges, and the standard loads.
"""

from ._faults_http import EXCHANGES, HTTP
from ._http_nodes import HttpClientNode, HttpServerNode
from ._scenarios_http import OFFICE_HOUR_HTTP, TORTURE_HTTP

__all__ = ["EXCHANGES", "HTTP", "OFFICE_HOUR_HTTP", "TORTURE_HTTP", "HttpClientNode", "HttpServerNode"]
