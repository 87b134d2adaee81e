"""Which handler serves which path: patterns like `/subjects/{subject}/versions`.

Paths are matched before they are decoded, so a name may contain an encoded slash.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple
from urllib.parse import unquote

from headrace.web.messages import HttpError, Request, Response

Handler = Callable[[Request], Awaitable[Response]]


class Route(NamedTuple):
    """A method, a pattern, and who serves it."""

    method: str
    pattern: str
    handler: Handler


class _Step:
    """What may come next in a path."""

    __slots__ = ("any", "handlers", "literal")

    def __init__(self) -> None:
        self.literal: dict[str, _Step] = {}
        self.any: _Step | None = None
        #: By method: the handler and the names of the pattern's parameters.
        self.handlers: dict[str, tuple[Handler, tuple[str, ...]]] = {}


class Router:
    """A tree of path segments; finding a handler costs a look per segment."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Step()
        for route in routes:
            self._add(route)

    def find(self, method: str, path: str) -> tuple[Handler, dict[str, str]]:
        """The handler and the parameters; `HttpError` 404 or 405 if there is none."""
        values: list[str] = []
        step = self._root
        for segment in path.split("/"):
            if not segment:
                continue
            following = step.literal.get(segment)
            if following is None:
                if step.any is None:
                    raise HttpError(404, "HTTP 404 Not Found")
                values.append(segment)
                following = step.any
            step = following
        found = step.handlers.get(method)
        if found is None:
            if not step.handlers:
                raise HttpError(404, "HTTP 404 Not Found")
            raise HttpError(405, "HTTP 405 Method Not Allowed")
        handler, names = found
        return handler, dict(zip(names, map(_decode, values), strict=True))

    def methods(self, path: str) -> list[str]:
        """The methods that a path has, for the header Allow."""
        step: _Step | None = self._root
        for segment in filter(None, path.split("/")):
            step = None if step is None else step.literal.get(segment, step.any)
        return [] if step is None else sorted(step.handlers)

    def _add(self, route: Route) -> None:
        step = self._root
        names = []
        for segment in filter(None, route.pattern.split("/")):
            if segment.startswith("{"):
                names.append(segment[1:-1])
                step.any = step.any or _Step()
                step = step.any
            else:
                step = step.literal.setdefault(segment, _Step())
        step.handlers[route.method] = (route.handler, tuple(names))


def _decode(segment: str) -> str:
    if "%" not in segment:
        return segment
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise HttpError(400, "The path is no UTF-8") from None
