"""Lines from standard input, with a word when none comes for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator

from headrace.client.readable import is_readable

_READ_BYTES = 64 * 1024


def read_lines(fd: int, idle_ms: int) -> Iterator[bytes | None]:
    """Each line without its end; None when nothing came for `idle_ms` after a line.

    A line ends with `\\n`, `\\r\\n` or `\\r`, as Java's readers see it.
    """
    held = b""
    skip_newline = is_waiting = False
    while True:
        if is_waiting and not is_readable(fd, idle_ms / 1000):
            yield None
            is_waiting = False
            continue
        data = os.read(fd, _READ_BYTES)
        if not data:
            break
        if skip_newline and data.startswith(b"\n"):
            data = data[1:]
        skip_newline = data.endswith(b"\r")
        *whole, held = (held + data).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        yield from whole
        is_waiting = is_waiting or bool(whole)
    if held:
        yield held
