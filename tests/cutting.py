"""A proxy on this machine that breaks what it carries at a chosen byte, once, and is honest ever after."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator


class Cutter:
    """Carries connections to `port`. After `after` bytes of the server, everything that is open breaks, with
    a reset if `reset`. `cut` tells that this has happened.
    """

    def __init__(self, port: int, after: int, *, reset: bool) -> None:
        self.cut = threading.Event()
        self._server = ("127.0.0.1", port)
        self._left = after
        self._reset = reset
        self._open: list[socket.socket] = []
        self._closed = False
        self._lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                try:
                    far = socket.create_connection(self._server)
                except OSError:
                    near.close()
                    continue
                with self._lock:
                    self._open += [near, far]
                if self._closed:  # which came between the accept and the lock
                    self.close()
                    return
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if source.getpeername() == self._server:
                    data = self._allowed(data)
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def _allowed(self, data: bytes) -> bytes:
        """What may pass; the last of it breaks everything."""
        with self._lock:
            if self.cut.is_set():
                return data
            part, self._left = data[: self._left], self._left - len(data)
            if self._left > 0:
                return part
            self.cut.set()
            broken, self._open = self._open, []
        for sock in broken:
            if self._reset:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        return b""

    def close(self) -> None:
        """Let go of everything."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
                sock.close()


@contextlib.contextmanager
def cutting(port: int, after: int, *, reset: bool) -> Iterator[Cutter]:
    """A proxy, for the block."""
    cutter = Cutter(port, after, reset=reset)
    try:
        yield cutter
    finally:
        cutter.close()
