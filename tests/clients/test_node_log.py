"""The log of a node as an operator finds it: one that was killed, and one that was stopped."""

from __future__ import annotations

import json
import re
from pathlib import Path

from confluent_kafka import Producer

import headrace
from tests.support.headrace_node import HeadraceNode


class JsonLogNode(HeadraceNode):
    """A node whose log lines are objects."""

    def command(self) -> list[str]:
        return [*super().command(), "--log-format", "json"]

    def take_lines(self) -> list[tuple[str, str]]:
        """Level and message of each line since the node was started."""
        entries = [json.loads(line) for line in self.child.output.read_text().splitlines()]
        self.child.output.unlink()
        assert all(entry["logger"].startswith("headrace.") for entry in entries)
        lines = [(entry["level"], entry["message"]) for entry in entries]
        # What is said of the settings comes before the node itself has a word.
        begin = next(n for n, (_, message) in enumerate(lines) if message.startswith("starting "))
        return lines[begin:]


def write(node: JsonLogNode) -> None:
    producer = Producer({"bootstrap.servers": node.bootstrap, "log_level": 0})
    producer.produce("orders", b"x")
    assert producer.flush(60) == 0


def test_a_node_tells_how_it_was_found_and_how_it_ended(tmp_path: Path) -> None:
    settings = {"num.partitions": "3", "ssl.keystore.password": "secret"}
    node = JsonLogNode(tmp_path / "data", settings=settings)
    path = str(node.directory)
    node.start()
    write(node)
    node.kill()
    first = node.take_lines()
    (torn,) = (log for log in node.directory.glob("orders-*/*.log") if log.stat().st_size)
    with torn.open("ab") as file:
        file.write(b"half a batch")
    with node:
        pass
    killed = node.take_lines()
    with node:
        pass
    stopped = node.take_lines()

    meta = (node.directory / "meta.properties").read_text()
    (cluster_id,) = re.findall(r"^cluster.id=(.+)$", meta, re.M)
    for lines in (first, killed, stopped):
        assert lines[0][1].startswith(
            f"starting Headrace {headrace.__version__} as node 1 (broker, controller): process "
        )
        assert lines[0][1].endswith(f"data in {path}")
        assert lines[1][1].startswith(f"node of cluster {cluster_id}, with its metadata up to ")
        assert "num.partitions=3" in lines[2][1]
        assert "ssl.keystore.password=[hidden]" in lines[2][1]
        assert ("INFO", f"listening on {node.bootstrap}") in lines
        assert not any("secret" in message for _, message in lines)
    assert ("INFO", f"{path} holds no logs") in first
    assert first[-1] == ("INFO", "created topic orders with 3 partitions")

    assert killed[3] == ("INFO", f"{path} was not closed cleanly: recovering 3 logs")
    assert killed[4] == ("WARNING", f"{torn.parent} was torn: cut 12 bytes off")
    size = torn.stat().st_size
    assert re.fullmatch(
        rf"{path}: recovered 3 logs in \d+\.\d\d s, read {size} bytes, cut 12 bytes off 1 log",
        killed[5][1],
    )
    assert re.fullmatch(r"started in \d+\.\d\d s: 1 topic, 3 partitions", killed[6][1])

    assert stopped[3] == ("INFO", f"{path} was closed cleanly: 3 logs, none to recover")
    for lines in (killed, stopped):
        assert lines[-2] == ("INFO", "stopping: SIGTERM")
        assert re.fullmatch(r"stopped in \d+\.\d\d s", lines[-1][1])
