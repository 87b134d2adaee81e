"""One connection to a node as bytes in, bytes out: no socket, no clock.

`request` turns a message into the chunks to send and remembers what was asked; `receive` takes
whatever came from the socket and gives back the responses that are complete. A node answers in
the order in which it was asked, so the answer's correlation id must be the oldest one's; anything
else means the stream is not Kafka, or is hostile, and the connection is worth nothing any more.
"""

from __future__ import annotations

from collections import deque
from struct import Struct

from headrace.base.errors import ErrorCode
from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.compiler import Buffer, decode, encode_chunks, read
from headrace.protocol.errors import ProtocolError
from headrace.protocol.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from headrace.protocol.schema import Request, Response

#: No honest answer is larger: it bounds what one connection can make us hold.
RESPONSE_BYTES_MAX = 100 * 1024 * 1024

#: A larger answer is read into a buffer of its own size, without another copy.
_LARGE = 64 * 1024

_SIZE = Struct(">i")
_CORRELATION_IDS = 0x7FFFFFFF


class ClientWire:
    """The client's end of one connection."""

    def __init__(self, client_id: str, *, response_bytes_max: int = RESPONSE_BYTES_MAX) -> None:
        self._client_id = client_id
        self._response_bytes_max = response_bytes_max
        self._next_correlation_id = 0
        #: What was asked and not answered yet, oldest first.
        self._in_flight: deque[tuple[int, type[Request], int]] = deque()
        self._received = bytearray()
        #: A large answer that is not complete yet, and how much of it is there.
        self._large: bytearray | None = None
        self._filled = 0

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def request(
        self, message: Request, version: int, *, expect_response: bool = True
    ) -> list[Buffer]:
        """The chunks to send; a Produce with acks=0 is the one request that gets no answer."""
        correlation_id = self._next_correlation_id
        header = RequestHeader(
            request_api_key=message.api_key,
            request_api_version=version,
            correlation_id=correlation_id,
            client_id=self._client_id,
        )
        chunks = encode_chunks(header, request_header_version(type(message), version))
        chunks += encode_chunks(message, version)
        self._next_correlation_id = (correlation_id + 1) & _CORRELATION_IDS
        if expect_response:
            self._in_flight.append((correlation_id, type(message), version))
        return [_SIZE.pack(sum(map(len, chunks))), *chunks]

    def room(self) -> memoryview | None:
        """Where the next bytes belong if a large answer is under way; tell `fill` how many came."""
        return None if self._large is None else memoryview(self._large)[self._filled :]

    def fill(self, count: int) -> list[Response]:
        """`count` bytes were read into the `room`; the response that they complete."""
        frame = self._large
        self._filled += count
        if frame is None or self._filled < len(frame):
            return []
        self._large = None
        return [self._decode(frame)]

    def receive(self, data: Buffer) -> list[Response]:
        """Take bytes from the socket and return the responses that they complete."""
        room = self.room()
        if room is not None:
            part = min(len(room), len(data))
            room[:part] = data[:part]
            return self.fill(part) + (self.receive(data[part:]) if part < len(data) else [])
        self._received += data
        responses = []
        while (frame := self._next_frame()) is not None:
            responses.append(self._decode(frame))
        return responses

    def _next_frame(self) -> bytes | None:
        if len(self._received) < 4:
            return None
        (size,) = _SIZE.unpack_from(self._received)
        if not 4 <= size <= self._response_bytes_max:
            raise ProtocolError(f"an answer of {size} bytes: this is not a Kafka broker")
        if len(self._received) < 4 + size:
            if size >= _LARGE:
                self._begin_large(size)
            return None
        frame = bytes(memoryview(self._received)[4 : 4 + size])
        del self._received[: 4 + size]
        return frame

    def _begin_large(self, size: int) -> None:
        self._large = bytearray(size)
        self._filled = len(self._received) - 4
        self._large[: self._filled] = memoryview(self._received)[4:]
        self._received = bytearray()

    def _decode(self, frame: bytes | bytearray) -> Response:
        if not self._in_flight:
            raise ProtocolError("an answer that nobody asked for")
        correlation_id, asked, version = self._in_flight.popleft()
        header, position = read(ResponseHeader, response_header_version(asked, version), frame)
        if header.correlation_id != correlation_id:
            raise ProtocolError(
                f"the answer to request {header.correlation_id} came when {correlation_id} was due"
            )
        _, answer = message_classes(ApiKey(asked.api_key))
        body = memoryview(frame)[position:]
        if asked.api_key == ApiKey.API_VERSIONS and _is_unsupported_version(body):
            version = 0  # a node that does not know our version answers with its oldest (KIP-511)
        return decode(answer, version, body)


def _is_unsupported_version(body: memoryview) -> bool:
    return int.from_bytes(body[:2], "big", signed=True) == ErrorCode.UNSUPPORTED_VERSION
