"""What the tests of the REST proxy share: a proxy, a registry and an HTTP client for them."""

import json
from typing import Any

import httpx

V2 = "application/vnd.kafka.v2+json"


def v2(embedded: str) -> str:
    return f"application/vnd.kafka.{embedded}.v2+json"


class Rest:
    """Requests to a proxy."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx.Client(base_url=url, trust_env=False, timeout=30)

    def close(self) -> None:
        self._client.close()

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        kind: str | None = None,
        accept: str | None = None,
    ) -> httpx.Response:
        headers = {}
        if accept is not None:
            headers["Accept"] = accept
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if content is not None:
            default = "application/json" if path.startswith("/v3") else V2
            headers["Content-Type"] = default if kind is None else kind
        return self._client.request(method, path, content=content, headers=headers)

    def produce(self, topic: str, embedded: str, records: list[Any], **more: Any) -> httpx.Response:
        return self.ask("POST", f"/topics/{topic}", {"records": records, **more}, v2(embedded))

    def error(self, *args: Any, **more: Any) -> tuple[int, int]:
        """Status and error code; every error is such an object, and nothing else is in it."""
        answer = self.ask(*args, **more)
        body = answer.json()
        assert set(body) == {"error_code", "message"}, body
        assert "Traceback" not in body["message"]
        return answer.status_code, body["error_code"]

    @property
    def cluster(self) -> str:
        cluster_id = self.ask("GET", "/v3/clusters").json()["data"][0]["cluster_id"]
        return f"/v3/clusters/{cluster_id}"

    def stream(self, topic: str, body: bytes) -> list[dict[str, Any]]:
        answer = self.ask("POST", f"{self.cluster}/topics/{topic}/records", body)
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.text.splitlines()]

    def records(self, path: str, embedded: str, count: int) -> list[dict[str, Any]]:
        """Fetch until so many records came."""
        found: list[dict[str, Any]] = []
        for _ in range(40):
            answer = self.ask("GET", f"{path}/records", accept=v2(embedded))
            assert answer.status_code == 200, answer.text
            found += answer.json()
            if len(found) >= count:
                return found
        raise AssertionError(f"only {len(found)} of {count} records came")

    def instance(self, group: str, **settings: Any) -> str:
        """A new consumer instance; its path."""
        body = {"auto.offset.reset": "earliest", **settings}
        answer = self.ask("POST", f"/consumers/{group}", body)
        assert answer.status_code == 200, answer.text
        base: str = answer.json()["base_uri"]
        return httpx.URL(base).raw_path.decode()
