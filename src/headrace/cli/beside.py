"""The services that `headrace up` starts beside its node: a schema registry and a REST proxy.

Each is a process of its own, the same command that a user would start, so that a node stays as
small as it is. They end with the node, however it ends: each watches a pipe from it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
from dataclasses import dataclass

from headrace.base.child_python import child_command
from headrace.server.sockets import is_taken

HOST = "127.0.0.1"
_STOP_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Service:
    """One of them: how it is started, and what it needs to be installed."""

    label: str
    command: tuple[str, ...]
    bootstrap_setting: str
    flag: str
    default_port: int
    extra: str
    packages: tuple[str, ...]

    def missing_packages(self) -> list[str]:
        return [name for name in self.packages if importlib.util.find_spec(name) is None]


REGISTRY = Service(
    "schema registry",
    ("schema-registry", "start", os.devnull),
    "kafkastore.bootstrap.servers",
    "--registry-port",
    8081,
    "registry",
    ("fastavro", "google.protobuf", "httptools", "jsonschema_rs", "orjson", "uvicorn"),
)
REST_PROXY = Service(
    "REST proxy",
    ("rest-proxy", "start", os.devnull),
    "bootstrap.servers",
    "--rest-port",
    8082,
    "rest",
    (*REGISTRY.packages, "confluent_kafka", "httpx", "starlette"),
)


class Beside:
    """The processes of one `headrace up`."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, service: Service, port: int, bootstrap: str, *settings: str) -> str:
        """Start a service unless something is in its way; its address, or what is in its way."""
        missing = _missing(service)
        if missing:
            return f"needs {missing}: pip install 'headrace[{service.extra}]'"
        if is_taken(port):
            return f"port {port} is taken; {service.flag} picks another"
        given = (
            f"{service.bootstrap_setting}={bootstrap}",
            f"listeners=http://{HOST}:{port}",
            *settings,
        )
        overrides = [word for setting in given for word in ("--override", setting)]
        self._running.append(
            subprocess.Popen(
                child_command(
                    "headrace.cli.child", *service.command, *overrides, "--log-level", "ERROR"
                ),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                # Ctrl-C is for the node, which ends them in its own time.
                start_new_session=True,
            )
        )
        return f"http://{HOST}:{port}"

    def stop(self) -> None:
        """End them all, and wait until they have."""
        for process in self._running:
            if process.stdin is not None:
                process.stdin.close()
        for process in self._running:
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()


def _missing(service: Service) -> str:
    with contextlib.suppress(ModuleNotFoundError):  # `google` itself is missing
        return ", ".join(service.missing_packages())
    return "protobuf"
