"""A consumer instance lives in one proxy and can be reached through any.

A proxy that does not have the instance passes the request on to its peers
(`headrace.rest.peers`), first to the one that had it the last time. A request that was passed on
is never passed on again.
"""

from __future__ import annotations

import httpx
from starlette.requests import Request
from starlette.responses import Response

from headrace.rest.config import RestConfig
from headrace.rest.errors import RestError

FORWARDED = "headrace-forwarded"
_OWNERS_MAX = 10_000
_ANSWER_S = 120.0
_CONNECT_S = 2.0
_KEPT_HEADERS = ("accept", "content-type", "authorization")


class Peers:
    """The other proxies."""

    def __init__(self, config: RestConfig) -> None:
        self._urls = config.peers
        timeout_s = config.client_timeout_s + config.request_timeout_ms / 1000
        # An instance may have been told to wait for records longer than its proxy does.
        self._timeout = httpx.Timeout(max(timeout_s, _ANSWER_S), connect=_CONNECT_S)
        self._client: httpx.AsyncClient | None = None
        self._owners: dict[str, str] = {}

    async def forward(self, request: Request, instance: str, body: bytes) -> Response | None:
        """The answer of the peer that has the instance; None if none of them has it.

        A peer that is there and does not answer may have it, so it is not said that none has.
        """
        if not self._urls or FORWARDED in request.headers:
            return None
        owner = self._owners.get(instance)
        urls = [owner] if owner in self._urls else []
        urls += [url for url in self._urls if url not in urls]
        silent = None
        for url in urls:
            try:
                answer = await self._ask(url, request, body)
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL):
                # A proxy that is gone has taken its instances with it.
                continue
            except httpx.HTTPError:
                silent = url
                continue
            if answer is not None:
                while len(self._owners) >= _OWNERS_MAX:
                    del self._owners[next(iter(self._owners))]
                self._owners[instance] = url
                return answer
        if silent is not None:
            raise RestError(500, 50003, f"The proxy {silent} did not answer.")
        return None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def _ask(self, url: str, request: Request, body: bytes) -> Response | None:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=self._timeout, trust_env=False)
        headers = {name: value for name, value in request.headers.items() if name in _KEPT_HEADERS}
        headers[FORWARDED] = "1"
        # As it was sent: what is decoded in a path may be the end of it when it is sent again.
        path, query = request.scope["raw_path"], request.scope["query_string"]
        target = url + (path + b"?" + query if query else path).decode("latin-1")
        answer = await self._client.request(request.method, target, headers=headers, content=body)
        if answer.status_code == 404 and b'"error_code":40403' in answer.content:
            return None
        kind = answer.headers.get("content-type")
        return Response(answer.content, answer.status_code, media_type=kind)
