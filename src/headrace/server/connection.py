"""One client's connection: frames in, responses out, in order, with back-pressure both ways.

The socket reads straight into this connection's own buffer, and a request is decoded where it
lies: record bytes go from there to the file without another copy. So a frame is served before
its bytes are reused, one request at a time, which is also what keeps responses in order.
"""

from __future__ import annotations

import asyncio
import logging
import os
import struct
from typing import Protocol, cast

from headrace.broker.context import ConnectionInfo
from headrace.broker.dispatcher import Chunks, Dispatcher
from headrace.broker.parked import Close, Parked
from headrace.log.file_slice import FileSlice
from headrace.protocol.compiler import Buffer
from headrace.server.brief_polling import BriefPolling
from headrace.server.file_sender import FileSender
from headrace.server.request_memory import RequestMemory, RequestShare
from headrace.server.resumptions import Resumptions

logger = logging.getLogger(__name__)

_frame_size = struct.Struct(">i").unpack_from
#: Bytes of the size in front of each frame.
_LENGTH_SIZE = 4
#: What a quiet connection holds, so that thousands of them cost little.
_BUFFER_START = 8 * 1024
#: What one gets whose frames are larger, and next; then it doubles as their bytes arrive.
_BUFFER_GROWN = 64 * 1024
#: A producer sends ahead: where several of its requests fit, few of them are cut by the buffer's
#: end and have to be moved to its front.
_BUFFER_AHEAD = 256 * 1024
#: A buffer larger than this is given back once its frame is served.
_BUFFER_KEPT_MAX = 1024 * 1024
#: Answers to requests that arrived together leave together, but no more than this: the first
#: of them should not wait for long.
_GATHERED_MAX = 8
#: Who sends more than this at once does not wait for each answer.
_SMALL_MAX = 2 * 1024
#: How far a client may send ahead while its request waits.
_AHEAD_MAX = 64 * 1024


class ConnectionOwner(Protocol):
    """Who accepts connections, counts them and knows what they may do."""

    frame_size_max: int
    memory: RequestMemory
    resumptions: Resumptions
    polling: BriefPolling

    def opened(self, connection: Connection) -> ConnectionInfo | None:
        """Admit a new connection, or None to refuse it."""
        ...

    def closed(self, connection: Connection) -> None: ...


class Connection(asyncio.BufferedProtocol):
    """The transport side of a client."""

    __slots__ = (
        "_active_ms",
        "_buffer",
        "_dispatcher",
        "_end",
        "_fd",
        "_file_sender",
        "_gathered",
        "_info",
        "_is_busy",
        "_is_closed",
        "_is_read_paused",
        "_is_serving",
        "_is_write_paused",
        "_owner",
        "_parked",
        "_served_small",
        "_share",
        "_start",
        "_transport",
        "_view",
        "_was_active",
    )

    def __init__(self, owner: ConnectionOwner, dispatcher: Dispatcher) -> None:
        self._owner = owner
        self._served_small = owner.polling.served
        self._dispatcher = dispatcher
        self._buffer = bytearray(_BUFFER_START)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._end = 0
        self._transport: asyncio.Transport
        self._info: ConnectionInfo
        self._fd = -1
        self._parked: Parked | None = None
        self._gathered: list[bytes] = []
        self._file_sender: FileSender | None = None
        self._is_busy = False
        self._is_serving = False
        self._is_read_paused = False
        self._is_write_paused = False
        self._share = RequestShare(owner.memory)
        self._is_closed = False
        self._was_active = True
        self._active_ms = 0.0

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not inherit from asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        info = self._owner.opened(self)
        if info is None:
            self._is_closed = True
            self._transport.abort()
            return
        self._info = info
        socket = self._transport.get_extra_info("socket")
        if socket is not None:
            self._fd = socket.fileno()

    @property
    def transport(self) -> asyncio.Transport:
        return self._transport

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._end == len(self._buffer):
            self._make_room()
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        self._end += nbytes
        self._was_active = True
        self._serve_frames()
        if nbytes <= _SMALL_MAX:
            self._served_small()

    def _be_active(self) -> None:
        self._was_active = True

    def quiet_ms(self, now_ms: float) -> float:
        """For how long nothing came or went.

        Asked now and then, which is when time is taken: requests come far more often. Who is quiet
        in between does not need the room that a large request once took.
        """
        if self._was_active:
            self._was_active = False
            self._active_ms = now_ms
        elif self._start == self._end and not self._is_busy:
            self._give_back_buffer()
        return now_ms - self._active_ms

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_service()

    def pause_writing(self) -> None:
        """The client does not read its answers: no further request of its is served."""
        self._is_write_paused = True
        self._pause_reading()

    def resume_writing(self) -> None:
        self._is_write_paused = False
        self._be_active()
        self._resume()

    # Frames

    def _make_room(self) -> None:
        """Move the unfinished frame to the front, into a larger buffer if it fills this one.

        Growing follows the bytes that came, never the size that a client merely claims.
        """
        used = self._end - self._start
        unfinished = self._view[self._start : self._end]
        size = len(self._buffer)
        is_large_enough = self._start > 0 and used <= size // 2
        # A request that waits may still read its own bytes.
        if self._is_busy or not is_large_enough:
            if not is_large_enough:
                size = _grown(size)
            self._replace_buffer(bytearray(size))
        self._view[:used] = unfinished
        self._start, self._end = 0, used

    def _replace_buffer(self, buffer: bytearray) -> None:
        self._buffer = buffer
        self._view = memoryview(buffer)

    def _serve_frames(self) -> None:
        """Serve all whole frames in the buffer, unless one of them has to wait."""
        if self._is_serving:
            return
        self._is_serving = True
        try:
            while self._end - self._start >= _LENGTH_SIZE and not (
                self._is_busy or self._is_write_paused or self._is_closed
            ):
                size = _frame_size(self._buffer, self._start)[0]
                if not 0 <= size <= self._owner.frame_size_max:
                    self._close(f"a frame of {size} bytes")
                    break
                begin = self._start + _LENGTH_SIZE
                end = begin + size
                if end > self._end:
                    if size > _BUFFER_GROWN and not self._share.begin(size, self._has_memory):
                        self._pause_reading()
                    break
                self._start = end
                self._is_busy = True
                if size > _BUFFER_GROWN:
                    self._share.hold(size)
                self._parked = self._dispatcher.serve(self._info, self._view[begin:end], self._send)
                if self._share.taken:
                    self._share.end()
        finally:
            self._is_serving = False
            if self._gathered:
                self._send_gathered()
        if self._is_busy:
            # While a request waits its client may send a little ahead, but not without end.
            if self._end - self._start >= _AHEAD_MAX and not self._is_closed:
                self._pause_reading()
        elif self._start == self._end:
            self._start = self._end = 0
            if len(self._buffer) > _BUFFER_KEPT_MAX:
                self._give_back_buffer()

    def _give_back_buffer(self) -> None:
        if len(self._buffer) > _BUFFER_START:
            self._replace_buffer(bytearray(_BUFFER_START))
        self._start = self._end = 0

    def _has_memory(self) -> None:
        self._owner.resumptions.add(self._resume)

    def _pause_reading(self) -> None:
        if not self._is_read_paused:
            self._is_read_paused = True
            self._transport.pause_reading()

    def _send(self, reply: bytes | Chunks | Close | None) -> None:
        """The answer to the request at hand."""
        self._is_busy = False
        self._parked = None
        if self._is_closed:
            return
        if isinstance(reply, bytes):
            # Others may follow at once, and leave together with it.
            if self._is_serving and (self._start != self._end or self._gathered):
                self._gather(reply)
            else:
                self._send_small(reply)
        elif isinstance(reply, list):
            if self._send_large(cast("list[Buffer | FileSlice]", reply)):
                return
        elif reply is not None:
            self._close(reply.reason)
            return
        if self._is_serving:
            return
        if self._start == self._end and not self._is_read_paused:
            self._start = self._end = 0  # nothing came meanwhile, as nearly always
            if len(self._buffer) > _BUFFER_KEPT_MAX:
                self._give_back_buffer()
        else:
            self._owner.resumptions.add(self._resume)

    def _gather(self, data: bytes) -> None:
        """Keep an answer until all frames at hand are served: sending costs more than serving."""
        self._gathered.append(data)
        if len(self._gathered) >= _GATHERED_MAX:
            self._send_gathered()

    def _send_gathered(self) -> None:
        gathered, self._gathered = self._gathered, []
        self._send_small(gathered[0] if len(gathered) == 1 else b"".join(gathered))

    def _send_small(self, data: bytes) -> None:
        """Straight to the socket, which nearly always has room; the transport takes the rest.

        The transport would queue it until the end of the loop's turn, behind whatever else the
        turn has to do, and a client that waits is waiting for this.
        """
        if self._fd >= 0 and self._transport.get_write_buffer_size() == 0:
            try:
                sent = os.write(self._fd, data)
            except OSError:  # no room, or broken: then the transport finds out as well
                sent = 0
            if sent == len(data):
                return
            data = data[sent:]
        self._transport.write(data)

    def _send_large(self, chunks: list[Buffer | FileSlice]) -> bool:
        """Send megabytes without copying them again; True if that goes on after this returns."""
        if self._gathered:
            self._send_gathered()
        has_files = any(isinstance(chunk, FileSlice) for chunk in chunks)
        if not has_files or self._transport.get_write_buffer_size() > 0:
            self._write_all(chunks)
            return False
        if self._file_sender is None:
            try:
                self._file_sender = FileSender(
                    asyncio.get_running_loop(), self._fd, self._be_active
                )
            except OSError:  # out of descriptors
                self._write_all(chunks)
                return False
        self._is_busy = True
        self._file_sender.send(chunks, self._sent_files)
        return True

    def _write_all(self, chunks: list[Buffer | FileSlice]) -> None:
        self._transport.writelines(
            [chunk.read() if isinstance(chunk, FileSlice) else chunk for chunk in chunks]
        )

    def _sent_files(self, error: OSError | None) -> None:
        self._is_busy = False
        if self._is_closed:
            return
        if error is not None:
            self._close(f"cannot send records: {error}")
        elif not self._is_serving:
            self._owner.resumptions.add(self._resume)

    def _resume(self) -> None:
        """Go on after a wait: first with what is in the buffer, then with the socket."""
        if self._is_closed:
            return
        self._serve_frames()
        if self._is_read_paused and not (
            self._is_busy or self._is_write_paused or self._share.is_waiting or self._is_closed
        ):
            self._is_read_paused = False
            self._transport.resume_reading()

    def _close(self, reason: str) -> None:
        logger.info(
            "closing the connection of %s:%s: %s",
            self._info.client_host,
            self._info.client_port,
            reason,
        )
        self.close()

    def close(self) -> None:
        """Send what is queued, then end."""
        if self._gathered:
            self._send_gathered()
        if self._is_write_paused:
            # It has stopped reading: what is queued would keep the connection open for ever.
            self._transport.abort()
        else:
            self._transport.close()
        self._end_service()

    def abort(self) -> None:
        """End at once."""
        self._transport.abort()
        self._end_service()

    def _end_service(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._gathered.clear()
            self._info.known.clear()  # what is known knows this connection, too
            if self._parked is not None:
                self._parked.abandon()
                self._parked = None
            if self._file_sender is not None:
                self._file_sender.close()
            self._share.close()
            self._owner.closed(self)


def _grown(size: int) -> int:
    for step in (_BUFFER_GROWN, _BUFFER_AHEAD):
        if size < step:
            return step
    return 2 * size
