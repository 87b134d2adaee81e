"""`headrace up` with its schema registry and REST proxy, as processes of their own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from tests.support.ports import free_port

_SECONDS = 30


class Up:
    """A `headrace up` on ports of its own."""

    def __init__(self, data: Path, *options: str) -> None:
        self.registry_port, self.rest_port = free_port(), free_port()
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "headrace.cli.main", "up", "--data", str(data)),
                *("--port", "0", "--registry-port", str(self.registry_port)),
                *("--rest-port", str(self.rest_port), *options),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.lines: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if line.startswith("Ctrl-C"):
                break

    @property
    def registry(self) -> str:
        return f"http://127.0.0.1:{self.registry_port}"

    @property
    def rest(self) -> str:
        return f"http://127.0.0.1:{self.rest_port}"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    running = Up(tmp_path / "data")
    yield running
    running.end()


def answer_of(url: str, body: bytes | None = None, content_type: str = "") -> Any:
    """What a service says, once it is there."""
    deadline = time.monotonic() + _SECONDS
    headers = {"Content-Type": content_type} if content_type else {}
    while True:
        try:
            request = urllib.request.Request(url, body, headers)
            with urllib.request.urlopen(request, timeout=_SECONDS) as response:
                return json.load(response)
        except (ConnectionError, urllib.error.URLError) as error:
            refused = isinstance(error, ConnectionError) or isinstance(
                getattr(error, "reason", None), ConnectionError
            )
            if not refused or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def wait_until_gone(url: str) -> None:
    deadline = time.monotonic() + _SECONDS
    with contextlib.suppress(ConnectionError, urllib.error.URLError):
        while time.monotonic() < deadline:
            with urllib.request.urlopen(url, timeout=_SECONDS):
                time.sleep(0.1)
        raise AssertionError(f"{url} still answers")


def test_both_services_serve_the_node_that_they_stand_beside(up: Up) -> None:
    assert f"schema registry {up.registry}" in up.lines
    assert f"REST proxy      {up.rest}" in up.lines
    assert answer_of(f"{up.registry}/subjects") == []
    with SchemaRegistryClient({"url": up.registry}) as client:
        assert client.register_schema("numbers-value", Schema('"long"', "AVRO")) == 1
    records = {"value_schema_id": 1, "records": [{"value": 7}, {"value": 8}]}
    sent = answer_of(
        f"{up.rest}/topics/numbers",
        json.dumps(records).encode(),
        "application/vnd.kafka.avro.v2+json",
    )
    assert [row["offset"] for row in sent["offsets"]] == [0, 1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_services_end_with_the_node_however_it_ends(up: Up, number: int) -> None:
    answer_of(f"{up.registry}/subjects")
    answer_of(f"{up.rest}/v3/clusters")
    os.kill(up.process.pid, number)
    up.process.wait(_SECONDS)
    wait_until_gone(f"{up.registry}/subjects")
    wait_until_gone(f"{up.rest}/v3/clusters")


def test_a_taken_port_is_said_and_keeps_nothing_else_from_starting(up: Up, tmp_path: Path) -> None:
    answer_of(f"{up.registry}/subjects")
    other = Up(tmp_path / "other", "--registry-port", str(up.registry_port))
    try:
        taken = f"schema registry port {up.registry_port} is taken; --registry-port picks another"
        assert taken in other.lines
        assert answer_of(f"{other.rest}/v3/clusters")["kind"] == "KafkaClusterList"
    finally:
        other.end()


def test_a_node_may_be_alone(tmp_path: Path) -> None:
    alone = Up(tmp_path / "data", "--node-only")
    try:
        assert not [line for line in alone.lines if "registry" in line or "REST" in line]
    finally:
        alone.end()
