"""The file and the commands of the documents, as they stand there, make a node that works."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from confluent_kafka import Consumer, Producer

from tests.support.ports import free_port

ROOT = Path(__file__).parents[2]
_SECONDS = 60


def block(document: str, heading: str, language: str) -> str:
    """The only block of that language below a heading."""
    text = (ROOT / "docs" / document).read_text().partition(f"## {heading}\n")[2]
    (code,) = re.findall(rf"```{language}\n(.*?)```", text.partition("\n## ")[0], re.S)
    return str(code)


def test_the_smallest_file_serves_a_group_until_the_node_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(
        block("configuration.md", "The smallest file", "properties")
    )
    command = tmp_path / "bin" / "headrace"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m headrace.cli.main "$@"\n')
    command.chmod(0o755)
    port, controller = free_port(), free_port()
    environment = {
        **os.environ,
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        # A port and a directory of the test's own.
        "KAFKA_LISTENERS": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "KAFKA_CONTROLLER_QUORUM_BOOTSTRAP_SERVERS": f"127.0.0.1:{controller}",
        "KAFKA_LOG_DIRS": str(tmp_path / "data"),
        # Nobody else will join, so the group need not wait.
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    }
    commands = block("tools.md", "A node from a file", "sh")
    with (tmp_path / "log").open("w") as log:
        node = subprocess.Popen(
            ["sh", "-e", "-c", commands],
            cwd=tmp_path,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            assert _through_a_group(f"127.0.0.1:{port}") == b"coffee", _read(tmp_path)
            stop = subprocess.run(
                [str(command), "server", "stop", "server.properties"],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
            assert re.fullmatch(r"The node of \S+ \(process \d+\) has stopped\.\n", stop.stdout)
            assert node.wait(_SECONDS) == 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(node.pid, signal.SIGKILL)
            node.wait()
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def _through_a_group(bootstrap: str) -> bytes | None:
    producer = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": _SECONDS * 1000})
    producer.produce("orders", b"coffee")
    assert producer.flush(_SECONDS) == 0
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "shop", "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe(["orders"])
        message = consumer.poll(_SECONDS)
        if message is None:
            return None
        assert message.error() is None
        consumer.commit(message=message, asynchronous=False)
        return message.value()
    finally:
        consumer.close()


def _read(directory: Path) -> str:
    return (directory / "log").read_text()
