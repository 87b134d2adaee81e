"""A client that may send any bytes: frames of its own making, half frames, garbage."""

import socket
import struct
from types import TracebackType
from typing import Self

_HEADER = struct.Struct(">hhih")


def frame(payload: bytes) -> bytes:
    """Any bytes with their length before them."""
    return struct.pack(">i", len(payload)) + payload


def request(api_key: int, version: int, body: bytes = b"", *, flexible: bool = False) -> bytes:
    """A frame with a request header, no client id, correlation id 7, and any body."""
    header = _HEADER.pack(api_key, version, 7, -1) + (b"\x00" if flexible else b"")
    return frame(header + body)


#: Metadata version 1 about no topic at all: what a sane client may ask first.
HARMLESS = request(3, 1, struct.pack(">i", 0))


class RawSocket:
    """A connection without a protocol."""

    def __init__(self, port: int, *, receive_buffer: int | None = None) -> None:
        self._socket = socket.socket()
        if receive_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(20)
        self._socket.connect(("127.0.0.1", port))

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def send_until_refused(self, data: bytes, times: int) -> int:
        """Send again and again until the other side takes no more; returns the bytes it took."""
        self._socket.settimeout(0.5)
        taken = 0
        try:
            for _ in range(times):
                left = memoryview(data)
                while left:
                    sent = self._socket.send(left)
                    taken += sent
                    left = left[sent:]
        except (TimeoutError, OSError):
            pass
        finally:
            self._socket.settimeout(20)
        return taken

    def read_some(self, size: int) -> bytes:
        """At most so many bytes of what has come."""
        return self._socket.recv(size)

    def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._receive(4))
        return self._receive(size)

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            chunk = self._socket.recv(size - len(received))
            if not chunk:
                raise ConnectionError("the server closed the connection")
            received += chunk
        return bytes(received)

    def is_closed_by_server(self) -> bool:
        """Whether the server ends the connection; waits for it, but takes no answer for it."""
        try:
            return self._socket.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def is_alive(self) -> bool:
        """Whether an ordinary question still gets its answer."""
        try:
            self.send(HARMLESS)
            return self.receive_frame()[:4] == struct.pack(">i", 7)
        except (ConnectionError, TimeoutError):
            return False

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
