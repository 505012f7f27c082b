"""Reading and writing file descriptors that are ready, without blocking and without changing them.

The flag that makes a descriptor block or not belongs to whatever it is open on, which other processes may
share; so it is left as it is, and asked for instead.
"""

from __future__ import annotations

import os
import select
import stat

READ_SIZE = 65536
"""How many bytes are read at once."""


def can_poll(fd: int) -> bool:
    """Whether a selector can wait for this descriptor: not for a regular file, which is always ready, nor
    for /dev/null.
    """
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


def has_room(fd: int) -> bool:
    """Whether something can be written at once, or would fail."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(0))


def read_some(fd: int) -> bytes | None:
    """What there is; nothing at the end, None if somebody else was faster. Raises `OSError`."""
    try:
        return os.read(fd, READ_SIZE)
    except BlockingIOError:
        return None


def write_some(fd: int, data: memoryview) -> int:
    """Write what does not block, and say how much that was. Raises `OSError`.

    A pipe that is ready has room for PIPE_BUF bytes; to write more might block, if it is one that does.
    """
    piece = data[: select.PIPE_BUF] if os.get_blocking(fd) else data
    try:
        return os.write(fd, piece)
    except BlockingIOError:
        return 0
