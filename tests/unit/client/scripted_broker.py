"""A broker that answers as a test tells it to, on a real socket of this machine."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from typing import Any

from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.compiler import encode, read
from headrace.protocol.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from headrace.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from headrace.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from headrace.protocol.schema import Request, Response

#: What a script gives for a request: an answer, raw bytes to send, or None to close.
Answer = Response | bytes | None
Script = Callable[[Any, int], Answer]


class ScriptedBroker:
    """Serves connections until it is left; `asked` holds every request in order."""

    def __init__(self, scripts: Mapping[ApiKey, Script] | None = None) -> None:
        self.scripts: dict[ApiKey, Script] = {
            ApiKey.API_VERSIONS: lambda _request, _version: api_versions(),
            ApiKey.METADATA: lambda _request, _version: self.metadata(),
            **(scripts or {}),
        }
        self.asked: list[Request] = []
        self.topics: dict[str, int] = {}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> ScriptedBroker:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for each in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(5)

    def metadata(self) -> MetadataResponse:
        """This broker as the only one, leading every partition of `topics`."""
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.port)],
            cluster_id="scripted",
            controller_id=1,
            topics=[
                MetadataResponseTopic(
                    name=name,
                    partitions=[
                        MetadataResponsePartition(
                            partition_index=index, leader_id=1, replica_nodes=[1], isr_nodes=[1]
                        )
                        for index in range(count)
                    ],
                )
                for name, count in self.topics.items()
            ],
        )

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            while self._answer(connection):
                pass
        connection.close()

    def _answer(self, connection: socket.socket) -> bool:
        (size,) = struct.unpack(">i", _receive(connection, 4))
        frame = _receive(connection, size)
        api = ApiKey(int.from_bytes(frame[:2], "big"))
        version = int.from_bytes(frame[2:4], "big")
        asked, _ = message_classes(api)
        header, position = read(RequestHeader, request_header_version(asked, version), frame)
        request, _ = read(asked, version, frame, position)
        self.asked.append(request)
        answer = self.scripts[api](request, version)
        if answer is None:
            return False
        if isinstance(answer, bytes):
            connection.sendall(answer)
            return True
        head = ResponseHeader(correlation_id=header.correlation_id)
        body = encode(head, response_header_version(asked, version)) + encode(answer, version)
        connection.sendall(struct.pack(">i", len(body)) + body)
        return True


def api_versions(**changed: tuple[int, int] | None) -> ApiVersionsResponse:
    """Every API in every version, but for those that a test changes or takes away (None)."""
    rows = []
    for api in ApiKey:
        served = message_classes(api)[0].versions
        low_high = changed.get(api.name.lower(), (served.low, served.high or 0))
        if low_high is not None:
            low, high = low_high
            rows.append(ApiVersion(api_key=api, min_version=low, max_version=high))
    return ApiVersionsResponse(api_keys=rows)


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return data
