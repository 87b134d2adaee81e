"""Answers in the registry's content type."""

from __future__ import annotations

from typing import Any

from headrace.registry.core.state import RegistryState
from headrace.web.messages import Response, dump_json

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


def answer(value: Any, status: int = 200) -> Response:
    return Response(dump_json(value), status, CONTENT_TYPE)


class Remembered:
    """Answers to questions that were asked before, for as long as the state is the same.

    Serializers of many processes ask for the same few schemas again and again.
    """

    _KEPT_MAX = 1000
    _KEPT_BYTES_MAX = 64 * 1024

    def __init__(self, state: RegistryState) -> None:
        self._state = state
        self._revision = -1
        self._kept: dict[object, Response] = {}

    def get(self, key: object) -> Response | None:
        if self._revision != self._state.revision:
            self._revision = self._state.revision
            self._kept.clear()
        return self._kept.get(key)

    def keep(self, key: object, response: Response, size: int = 0) -> Response:
        """`size` is that of the question, where it is large."""
        fits = len(response.body) + size <= self._KEPT_BYTES_MAX
        # What changed since the question was asked is not for the next one.
        if fits and len(self._kept) < self._KEPT_MAX and self._revision == self._state.revision:
            self._kept[key] = response
        return response


def raw(text: str) -> Response:
    """A schema as it is, not as a JSON text."""
    return Response(text.encode(), 200, CONTENT_TYPE)
