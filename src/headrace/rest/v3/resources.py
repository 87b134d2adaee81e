"""v3: how every resource describes itself: its kind, its address, its name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from headrace.rest.services import Services


class Links:
    """Addresses below /v3 as the client of this request reaches them."""

    def __init__(self, request: Request) -> None:
        services: Services = request.app.state.services
        self._base = services.config.advertised_url or str(request.base_url).rstrip("/")

    def to(self, *parts: object) -> str:
        path = "/".join(quote(str(part), safe="-:") for part in parts)
        return f"{self._base}/v3/clusters/{path}" if path else f"{self._base}/v3/clusters"

    def related(self, *parts: object) -> dict[str, str]:
        return {"related": self.to(*parts)}


def resource(kind: str, address: str, names: Iterable[tuple[str, object]]) -> dict[str, Any]:
    """`names` is the path of the resource's name: [("kafka", id), ("topic", name)]."""
    path = "/".join(f"{kind_of}={name}" for kind_of, name in names)
    return {"kind": kind, "metadata": {"self": address, "resource_name": f"crn:///{path}"}}


def collection(kind: str, address: str, data: list[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"self": address, "next": None}, "data": data}
