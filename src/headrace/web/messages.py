"""Requests and answers of our HTTP services, free of any framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import orjson


class HttpError(Exception):
    """A request that cannot be served; `code` is the service's own error code."""

    def __init__(self, status: int, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = status if code is None else code
        self.message = message


@dataclass(slots=True)
class Request:
    """One request; the body is read only when somebody asks for it."""

    method: str
    #: The path and query as they were sent, still encoded.
    target: str
    headers: Mapping[str, str]
    query: Mapping[str, list[str]]
    read_body: Callable[[], Awaitable[bytes]]
    #: What the route's pattern found in the path, decoded.
    params: Mapping[str, str] = field(default_factory=dict)
    _body: bytes | None = None

    async def body(self) -> bytes:
        """The whole body, however often it is asked for."""
        if self._body is None:
            self._body = await self.read_body()
        return self._body

    async def json(self) -> Any:
        """The body as JSON; an `HttpError` if it is none."""
        body = await self.body()
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise HttpError(400, f"The body is no JSON: {error}") from None

    def text(self, name: str, default: str = "") -> str:
        return self.query.get(name, (default,))[0]

    def texts(self, name: str) -> list[str]:
        return list(self.query.get(name, ()))

    def flag(self, name: str) -> bool:
        return self.text(name).strip().lower() == "true"

    def number(self, name: str, default: int) -> int:
        text = self.text(name)
        if not text:
            return default
        try:
            value = int(text)
        except ValueError:
            raise HttpError(404, f"The parameter {name} is a whole number, not '{text}'") from None
        if abs(value) >= 1 << 31:
            raise HttpError(404, f"The parameter {name} is too large")
        return value


@dataclass(frozen=True, slots=True)
class Response:
    """An answer; the headers besides the content's type and length are few."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


def parse_query(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if text:
        for name, value in parse_qsl(text, keep_blank_values=True, max_num_fields=100):
            found.setdefault(name, []).append(value)
    return found


def dump_json(value: Any) -> bytes:
    return orjson.dumps(value)
