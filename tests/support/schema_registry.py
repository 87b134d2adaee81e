"""A schema registry as a child process, run the way a user runs it, and plain requests to it."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.support.child import Child
from tests.support.headrace_node import HEADRACE
from tests.support.ports import free_port
from tests.support.properties import write_properties
from tests.support.readiness import eventually, tail

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


class Answer(NamedTuple):
    """A status, and the JSON that came with it."""

    status: int
    body: Any


def ask(url: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    """One request; bytes go as they are, anything else as JSON."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    named = {"Content-Type": CONTENT_TYPE, **{k.replace("_", "-"): v for k, v in headers.items()}}
    request = urllib.request.Request(url + path, data, named, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return Answer(answer.status, _json(answer.read()))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, _json(error.read()))


class SchemaRegistry:
    """`headrace schema-registry start FILE` on a free port of loopback."""

    def __init__(self, directory: Path, bootstrap: str, **settings: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._file = directory / f"schema-registry-{self.port}.properties"
        self._settings = {
            "listeners": self.url,
            "kafkastore.bootstrap.servers": bootstrap,
            "kafkagroup.session.timeout.ms": "6000",
            "kafkagroup.heartbeat.interval.ms": "500",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self.child = Child(directory / f"schema-registry-{self.port}.out")

    def start(self) -> None:
        write_properties(self._file, self._settings)
        self.child.start([*HEADRACE, "schema-registry", "start", str(self._file)])
        eventually(self._answers, timeout=60)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        return ask(self.url, method, path, body, **headers)

    def register(self, subject: str, schema: str, **fields: Any) -> int:
        answer = self.ask("POST", f"/subjects/{subject}/versions", {"schema": schema, **fields})
        assert answer.status == 200, answer
        return int(answer.body["id"])

    def _answers(self) -> bool:
        if not self.child.is_running:
            raise AssertionError(f"the registry ended\n{tail(self.child.output)}")
        try:
            return self.ask("GET", "/").status == 200
        except OSError:
            return False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.child.is_running and kind is None:
            code = self.child.stop(30)
            assert code == 0, tail(self.child.output)
        else:
            self.child.kill()


def _json(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return data.decode(errors="replace")
