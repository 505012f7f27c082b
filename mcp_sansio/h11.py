"""HTTP/1.1 as bytes, without I/O: the wires of servers and the connections of clients. Needs h11."""

from ._h11_client import H11ClientWire
from ._h11_pool import H11Pool, H11PoolConfig
from ._h11_server import H11ServerWire
from ._h11_visit import H11Config

__all__ = ["H11ClientWire", "H11Config", "H11Pool", "H11PoolConfig", "H11ServerWire"]
