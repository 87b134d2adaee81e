"""A blocking connection to one node: a socket with time-outs around `ClientWire`."""

from __future__ import annotations

import contextlib
import socket
import time
from typing import TypeVar

from headrace.base.errors import ErrorCode
from headrace.client.config import ClientConfig
from headrace.client.errors import ConnectionFailedError, UnreachableError, error_for_code
from headrace.client.versions import NodeVersions, handshake_retry
from headrace.client.wire import ClientWire
from headrace.protocol.compiler import Buffer
from headrace.protocol.errors import ProtocolError
from headrace.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from headrace.protocol.schema import Request, Response

R = TypeVar("R", bound=Response)

_RECEIVE_BYTES = 256 * 1024
_SOFTWARE_NAME = "headrace"
_HANDSHAKE_VERSION = 4


class BlockingConnection:
    """One connection; every failure closes it and raises `ConnectionFailedError`."""

    def __init__(self, address: tuple[str, int], config: ClientConfig) -> None:
        self.address = address
        self._config = config
        self._wire = ClientWire(config.client_id)
        self._arrived: list[Response] = []
        self._socket = self._connect()
        self.api_versions = self._handshake()
        self.versions = NodeVersions(self.api_versions)

    def call(
        self,
        request: Request,
        answer: type[R],
        *,
        version: int | None = None,
        timeout_ms: int | None = None,
    ) -> R:
        """Send a request and wait for its answer."""
        self.post(request, version=version)
        return self.take(answer, timeout_ms=timeout_ms)

    def post(
        self, request: Request, *, version: int | None = None, expect_response: bool = True
    ) -> None:
        """Send a request; `take` collects its answer later."""
        picked = self.versions.pick(type(request)) if version is None else version
        self._send(self._wire.request(request, picked, expect_response=expect_response))

    def take(self, answer: type[R], *, timeout_ms: int | None = None) -> R:
        """Wait for the answer to the oldest request that has none yet."""
        limit_ms = self._config.request_timeout_ms if timeout_ms is None else timeout_ms
        deadline = time.monotonic() + limit_ms / 1000
        while not self._arrived:
            self._receive(deadline)
        response = self._arrived.pop(0)
        if not isinstance(response, answer):
            raise self._failed(f"answered with {type(response).__name__}")
        return response

    def fileno(self) -> int:
        """For `select`: readable when the next answer begins to arrive."""
        return self._socket.fileno()

    @property
    def has_arrived(self) -> bool:
        """Whether an answer is already here, so that `take` would not touch the socket."""
        return bool(self._arrived)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def interrupt(self) -> None:
        """From another thread: whoever waits for an answer gets `ConnectionFailedError` now."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _connect(self) -> socket.socket:
        try:
            connected = socket.create_connection(
                self.address, timeout=self._config.connection_setup_timeout_ms / 1000
            )
        except socket.gaierror as error:
            raise UnreachableError(
                f"The name {self.address[0]} cannot be resolved ({error.strerror})."
            ) from error
        except UnicodeError as error:  # a name that DNS cannot have
            raise UnreachableError(f"The name {self.address[0]} cannot be resolved.") from error
        except OSError as error:
            raise UnreachableError(
                f"No broker can be reached at {self.name} ({_reason(error)})."
            ) from error
        # A Mac refuses if the broker has hung up again; the next read will say so.
        with contextlib.suppress(OSError):
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected

    def _handshake(self) -> ApiVersionsResponse:
        response = self._ask_versions(_HANDSHAKE_VERSION)
        retry = handshake_retry(response)
        if retry is not None:
            response = self._ask_versions(retry)
        if response.error_code != ErrorCode.NONE:
            self.close()
            raise error_for_code(response.error_code)
        return response

    def _ask_versions(self, version: int) -> ApiVersionsResponse:
        from headrace import __version__

        request = ApiVersionsRequest(
            client_software_name=_SOFTWARE_NAME, client_software_version=__version__
        )
        self._send(self._wire.request(request, version))
        return self.take(ApiVersionsResponse)

    def _send(self, chunks: list[Buffer]) -> None:
        try:
            self._socket.settimeout(self._config.request_timeout_ms / 1000)
            self._socket.sendall(b"".join(chunks))
        except OSError as error:
            raise self._failed(f"could not be written to ({_reason(error)})") from error

    def _receive(self, deadline: float) -> None:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise self._failed("did not answer in time")
        room = self._wire.room()
        data = b""
        try:
            self._socket.settimeout(remaining)
            if room is None:
                data = self._socket.recv(_RECEIVE_BYTES)
                count = len(data)
            else:
                count = self._socket.recv_into(room)
        except TimeoutError as error:
            raise self._failed("did not answer in time") from error
        except OSError as error:
            raise self._failed(f"broke the connection ({_reason(error)})") from error
        if count == 0:
            raise self._failed("closed the connection")
        try:
            self._arrived += self._wire.receive(data) if room is None else self._wire.fill(count)
        except ProtocolError as error:
            raise self._failed(f"sent what is no answer of Kafka's ({error})") from error

    def _failed(self, what: str) -> ConnectionFailedError:
        self.close()
        return ConnectionFailedError(f"The broker at {self.name} {what}.")

    @property
    def name(self) -> str:
        return format_address(self.address)


def format_address(address: tuple[str, int]) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "timed out"
    return (error.strerror or str(error)).lower()
