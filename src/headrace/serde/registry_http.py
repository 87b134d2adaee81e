"""Requests to a schema registry: several addresses, credentials, connections that are kept.

Blocking and safe for threads; a caller on an event loop asks from a thread. A registry that does
not answer, or says that it cannot now, is left for the next address, and the address that answered
is asked first from then on.
"""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Lock
from typing import Any
from urllib.parse import unquote, urlsplit

from headrace.serde.errors import RegistryError, RegistryUnavailableError, SerdeError

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
#: A schema of a megabyte with its references fits many times.
_ANSWER_BYTES_MAX = 64 * 1024 * 1024
_IDLE_CONNECTIONS_MAX = 8
#: Of what a registry says is wrong, so much is passed on.
_COMPLAINT_MAX = 2_000
#: Nothing is wrong with the request: the registry, or what stands before it, has no time for it,
#: or is in trouble itself (its leader is not known, its topic cannot be written to).
_NOT_NOW = frozenset({429, 500, 502, 503, 504})


class _Address:
    """One address of the registry, and connections to it that nobody uses right now."""

    def __init__(self, url: str, timeout_s: float, tls: ssl.SSLContext | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SerdeError(f"'{url}' is not the address of a schema registry (http://host:port).")
        try:
            self._port = parts.port
        except ValueError as error:
            raise SerdeError(f"'{url}' has no usable port.") from error
        self.url = f"{parts.scheme}://{parts.hostname}:{self._port or ''}".rstrip(":")
        self.path = parts.path.rstrip("/")
        self.user_info = (
            f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
        )
        self._host = parts.hostname
        self._tls = tls if parts.scheme == "https" else None
        self._is_https = parts.scheme == "https"
        self._timeout_s = timeout_s
        self.idle: list[HTTPConnection] = []

    def connect(self) -> HTTPConnection:
        if self._is_https:
            return HTTPSConnection(
                self._host, self._port, timeout=self._timeout_s, context=self._tls
            )
        return HTTPConnection(self._host, self._port, timeout=self._timeout_s)


class RegistryHttp:
    """Asks whichever address answers."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        user_info: str | None = None,
        bearer_token: str | None = None,
        timeout_s: float = 10.0,
        ca_file: str | None = None,
    ) -> None:
        tls = ssl.create_default_context(cafile=ca_file) if ca_file else None
        self._addresses = [_Address(url, timeout_s, tls) for url in urls]
        if not self._addresses:
            raise SerdeError("schema.registry.url names no address.")
        self._lock = Lock()
        self._first = 0
        self._user_info = user_info
        self._bearer_token = bearer_token

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The registry's answer.

        Raises `RegistryError` if it refuses, `RegistryUnavailableError` if no address can answer.
        """
        data = None if body is None else json.dumps(body).encode()
        failure = ""
        count = len(self._addresses)
        for step in range(count):
            index = (self._first + step) % count
            address = self._addresses[index]
            try:
                status, answer = self._exchange(address, method, path, data)
            except (OSError, HTTPException) as error:
                failure = f"{address.url}: {str(error) or type(error).__name__}"
                continue
            if status in _NOT_NOW:
                failure = f"{address.url}: status {status}, {_complaint(answer)[0]}"
                continue
            self._first = index
            return _read_answer(address, status, answer)
        raise RegistryUnavailableError(f"The schema registry does not answer ({failure}).")

    def close(self) -> None:
        with self._lock:
            for address in self._addresses:
                while address.idle:
                    address.idle.pop().close()

    def _exchange(
        self, address: _Address, method: str, path: str, data: bytes | None
    ) -> tuple[int, bytes]:
        with self._lock:
            connection = address.idle.pop() if address.idle else None
        if connection is not None:
            try:
                return self._send(address, connection, method, path, data)
            except (OSError, HTTPException):
                # An idle connection may have been closed by the registry; a fresh one will tell.
                connection.close()
        return self._send(address, address.connect(), method, path, data)

    def _send(
        self,
        address: _Address,
        connection: HTTPConnection,
        method: str,
        path: str,
        data: bytes | None,
    ) -> tuple[int, bytes]:
        try:
            connection.request(method, address.path + path, data, self._headers(address, data))
            response = connection.getresponse()
            answer = response.read(_ANSWER_BYTES_MAX + 1)
        except BaseException:
            connection.close()
            raise
        if len(answer) > _ANSWER_BYTES_MAX:
            connection.close()
            raise RegistryUnavailableError(f"The answer of {address.url} is too large.")
        with self._lock:
            if response.will_close or len(address.idle) >= _IDLE_CONNECTIONS_MAX:
                connection.close()
            else:
                address.idle.append(connection)
        return response.status, answer

    def _headers(self, address: _Address, data: bytes | None) -> dict[str, str]:
        headers = {"Accept": f"{CONTENT_TYPE}, application/json"}
        if data is not None:
            headers["Content-Type"] = CONTENT_TYPE
        user_info = self._user_info or address.user_info
        if self._bearer_token:
            headers["Authorization"] = f"Bearer {self._bearer_token}"
        elif user_info:
            headers["Authorization"] = f"Basic {b64encode(user_info.encode()).decode()}"
        return headers


def _read_answer(address: _Address, status: int, answer: bytes) -> Any:
    try:
        value = json.loads(answer) if answer else None
    except ValueError as error:
        raise RegistryUnavailableError(
            f"{address.url} answered with status {status} and no JSON: is it a schema registry?"
        ) from error
    if 200 <= status < 300:
        return value
    message, code = _complaint(answer)
    code = status if code is None else code
    raise RegistryError(f"The schema registry refused: {message} (error {code}).", status, code)


def _complaint(answer: bytes) -> tuple[str, int | None]:
    """What the registry says is wrong, and its own number for it."""
    try:
        value = json.loads(answer)
    except ValueError:  # a proxy's page
        value = None
    if not isinstance(value, dict):
        return "without a reason", None
    code = value.get("error_code")
    message = str(value.get("message", "without a reason"))[:_COMPLAINT_MAX]
    return message, code if isinstance(code, int) else None
