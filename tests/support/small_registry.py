"""A schema registry of a few lines: enough of the API for serializers, with no rules at all."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID


@dataclass
class SmallRegistry:
    """What is registered, and what was asked."""

    url: str = ""
    ids: dict[str, int] = field(default_factory=dict)
    subjects: dict[str, list[str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    authorization: list[str | None] = field(default_factory=list)
    #: Whether nobody gets an answer.
    is_away: bool = False
    #: What everybody gets instead of an answer, if it is not 0.
    trouble: int = 0

    def add(self, subject: str, body: dict[str, Any]) -> int:
        kept = {key: body[key] for key in ("schema", "schemaType", "references") if body.get(key)}
        if kept.get("schemaType") == "AVRO":
            del kept["schemaType"]
        text = json.dumps(kept)
        self.ids.setdefault(text, len(self.ids) + 1)
        versions = self.subjects.setdefault(subject, [])
        if text not in versions:
            versions.append(text)
        return self.ids[text]

    def describe(self, subject: str, text: str) -> dict[str, Any]:
        return {
            "subject": subject,
            "version": self.subjects[subject].index(text) + 1,
            "id": self.ids[text],
            "guid": _guid(text),
            **json.loads(text),
        }

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        match method, parts:
            case "GET", ["schemas", "ids", number]:
                for text, schema_id in self.ids.items():
                    if schema_id == int(number):
                        return 200, {**json.loads(text), "guid": _guid(text)}
                return 404, {"error_code": 40403, "message": f"Schema {number} not found"}
            case "GET", ["schemas", "guids", guid]:
                for text in self.ids:
                    if _guid(text) == guid:
                        return 200, {"id": self.ids[text], **json.loads(text)}
                return 404, {"error_code": 40403, "message": "Schema not found"}
            case "GET", ["subjects", subject, "versions", version]:
                if subject not in self.subjects:
                    return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
                versions = self.subjects[subject]
                index = len(versions) if version == "latest" else int(version)
                return 200, self.describe(subject, versions[index - 1])
            case "POST", ["subjects", subject, "versions"]:
                schema_id = self.add(subject, body)
                text = next(text for text, number in self.ids.items() if number == schema_id)
                return 200, self.describe(subject, text)
            case "POST", ["subjects", subject]:
                for text in self.subjects.get(subject, []):
                    if json.loads(text)["schema"] == body["schema"]:
                        return 200, self.describe(subject, text)
                return 404, {"error_code": 40403, "message": "Schema not found"}
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}


def _guid(text: str) -> str:
    return str(UUID(bytes=hashlib.md5(text.encode()).digest()))


@contextmanager
def small_registry() -> Iterator[SmallRegistry]:
    registry = SmallRegistry()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            path = urlsplit(self.path).path
            registry.asked.append(f"{self.command} {path}")
            registry.authorization.append(self.headers.get("Authorization"))
            if registry.is_away:
                self.close_connection = True
                return
            if registry.trouble:
                status, answer = registry.trouble, {"error_code": 50001, "message": "not now"}
            else:
                status, answer = registry.answer(self.command, path, body)
            # A proxy that speaks for the registry has pages of its own.
            data = b"<html>" if status in (502, 504) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _serve  # noqa: N815 - the names that the library calls

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        registry.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
