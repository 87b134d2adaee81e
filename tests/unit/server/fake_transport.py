"""A transport without a socket, and a dispatcher without a broker."""

from collections.abc import Callable
from struct import pack
from typing import Any

from headrace.broker.authorization import ANONYMOUS, AllowAll
from headrace.broker.context import ConnectionInfo
from headrace.broker.dispatcher import Chunks, Send
from headrace.broker.parked import Close, Parked
from headrace.server.brief_polling import NO_POLLING, BriefPolling
from headrace.server.connection import Connection
from headrace.server.request_memory import RequestMemory
from headrace.server.resumptions import Resumptions


class FakeTransport:
    """Keeps what is written, and what was asked of it."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.is_reading = True
        self.is_closed = False
        self.is_aborted = False

    @property
    def data(self) -> bytes:
        return b"".join(self.written)

    def write(self, data: bytes) -> None:
        self.written.append(bytes(data))

    def writelines(self, chunks: Chunks) -> None:
        self.written += [bytes(chunk) for chunk in chunks]

    def pause_reading(self) -> None:
        assert self.is_reading, "uvloop raises when reading is paused twice"
        self.is_reading = False

    def resume_reading(self) -> None:
        assert not self.is_reading
        self.is_reading = True

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True

    def get_extra_info(self, name: str) -> Any:
        return {"peername": ("10.0.0.7", 4711), "sockname": ("10.0.0.1", 9092)}.get(name)


class EchoDispatcher:
    """Answers a frame with itself; `park` waits until told, `quiet` gets no answer."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.parked: list[tuple[Parked, Send, bytes]] = []
        self.during: Callable[[], None] | None = None

    def serve(self, info: ConnectionInfo, frame: memoryview, send: Send) -> Parked | None:
        content = bytes(frame)
        self.frames.append(content)
        if self.during is not None:
            self.during()
        if content.startswith(b"park"):
            waiting = Parked()
            self.parked.append((waiting, send, content))
            return waiting
        if content.startswith(b"bad"):
            send(Close("bad"))
        else:
            send(None if content.startswith(b"quiet") else framed(content))
        return None

    def release(self) -> None:
        """Answer the request that waits."""
        waiting, send, content = self.parked.pop(0)
        if not waiting.is_done:
            waiting.complete(None)
            send(framed(content))


class Owner:
    """Counts connections."""

    def __init__(
        self,
        *,
        admits: bool = True,
        frame_size_max: int = 1 << 20,
        polling: BriefPolling = NO_POLLING,
        memory: RequestMemory | None = None,
    ) -> None:
        self.frame_size_max = frame_size_max
        self.memory = memory or RequestMemory()
        self.resumptions = Resumptions()
        self.polling = polling
        self.open_count = 0
        self.closed_count = 0
        self._admits = admits

    def opened(self, connection: Connection) -> ConnectionInfo | None:
        if not self._admits:
            return None
        self.open_count += 1
        return ConnectionInfo(
            ANONYMOUS, AllowAll(), "PLAINTEXT", "10.0.0.7", 4711, "10.0.0.1", 9092
        )

    def closed(self, connection: Connection) -> None:
        self.open_count -= 1
        self.closed_count += 1


class Client:
    """The other end: sends bytes as long as the connection reads, keeps the rest back."""

    def __init__(self, connection: Connection, transport: FakeTransport) -> None:
        self._connection = connection
        self._transport = transport
        self.unsent = b""

    def send(self, data: bytes, *, step: int = 1 << 30) -> None:
        """Deliver in reads of at most `step` bytes."""
        self.unsent += data
        while self.unsent and self._transport.is_reading and not self._transport.is_closed:
            buffer = self._connection.get_buffer(-1)
            assert len(buffer) > 0
            size = min(len(buffer), len(self.unsent), step)
            buffer[:size] = self.unsent[:size]
            self.unsent = self.unsent[size:]
            self._connection.buffer_updated(size)


class Setup:
    """A connection with both its neighbours."""

    def __init__(self, **owner: Any) -> None:
        self.owner = Owner(**owner)
        self.dispatcher = EchoDispatcher()
        self.transport = FakeTransport()
        dispatcher: Any = self.dispatcher
        transport: Any = self.transport
        self.connection = Connection(self.owner, dispatcher)
        self.connection.connection_made(transport)
        self.client = Client(self.connection, self.transport)

    @property
    def buffer_size(self) -> int:
        return len(self.connection._buffer)


def framed(content: bytes) -> bytes:
    return pack(">i", len(content)) + content
