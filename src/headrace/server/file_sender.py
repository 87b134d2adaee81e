"""Sends a response whose records still lie in files, by `sendfile`, past the transport.

Nothing is copied into this process: for a consumer that catches up that halves the processor time.
The transport must be idle and stays so until the last byte is sent; a connection serves one
request at a time, so nobody else writes meanwhile.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import sys
from collections import deque
from collections.abc import Callable

from headrace.log.file_slice import FileSlice
from headrace.protocol.compiler import Buffer

#: `os.sendfile` exists elsewhere too, with other rules; only this one is tried and tested.
IS_AVAILABLE = sys.platform == "linux"
_MORE_FOLLOWS = getattr(socket, "MSG_MORE", 0)

#: Told that everything is sent, or what went wrong.
Done = Callable[[OSError | None], None]


class FileSender:
    """The side door of one connection."""

    __slots__ = ("_chunks", "_done", "_is_waiting", "_loop", "_progress", "_socket")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        connection_fd: int,
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        self._loop = loop
        #: Called whenever the client has taken some more.
        self._progress = progress
        # A descriptor of our own: the loop watches the connection's already.
        self._socket = socket.socket(fileno=os.dup(connection_fd))
        self._socket.setblocking(False)
        self._chunks: deque[Buffer | FileSlice] = deque()
        self._done: Done | None = None
        self._is_waiting = False

    def send(self, chunks: list[Buffer | FileSlice], done: Done) -> None:
        """Send the chunks in order; `done` is called once, perhaps before this returns."""
        self._chunks = _joined(chunks)
        self._done = done
        self._advance()

    def _go_on(self) -> None:
        self._progress()
        self._advance()

    def _advance(self) -> None:
        try:
            while self._chunks:
                if not self._send_first():
                    self._wait_for_room()
                    return
        except BlockingIOError:
            self._wait_for_room()
            return
        except OSError as error:
            self._finish(error)
            return
        self._finish(None)

    def _send_first(self) -> bool:
        """Send as much of the first chunk as there is room for; True if that was all of it."""
        chunk = self._chunks[0]
        if isinstance(chunk, FileSlice):
            sent = os.sendfile(self._socket.fileno(), chunk.fd, chunk.position, chunk.length)
            if sent == 0:
                raise OSError(errno.EIO, "the log file is shorter than it was")
            chunk.skip(sent)
            is_sent = chunk.length == 0
        else:
            sent = self._socket.send(chunk, _MORE_FOLLOWS if len(self._chunks) > 1 else 0)
            is_sent = sent == len(chunk)
            if not is_sent:
                self._chunks[0] = memoryview(chunk)[sent:]
        if is_sent:
            self._chunks.popleft()
        return is_sent

    def _wait_for_room(self) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            self._loop.add_writer(self._socket.fileno(), self._go_on)

    def _stop_waiting(self) -> None:
        if self._is_waiting:
            self._is_waiting = False
            self._loop.remove_writer(self._socket.fileno())

    def _finish(self, error: OSError | None) -> None:
        self._stop_waiting()
        self._chunks.clear()
        done, self._done = self._done, None
        if done is not None:
            done(error)

    def close(self) -> None:
        """The connection is gone: forget what was being sent."""
        self._stop_waiting()
        self._chunks.clear()
        self._done = None
        self._socket.close()


def _joined(chunks: list[Buffer | FileSlice]) -> deque[Buffer | FileSlice]:
    """Neighbouring buffers as one, so that each costs one system call."""
    joined: deque[Buffer | FileSlice] = deque()
    run: list[Buffer] = []
    for chunk in chunks:
        if not isinstance(chunk, FileSlice):
            run.append(chunk)
            continue
        if run:
            joined.append(b"".join(run))
            run = []
        joined.append(chunk)
    if run:
        joined.append(b"".join(run))
    return joined
