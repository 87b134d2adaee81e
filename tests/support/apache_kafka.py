"""An Apache Kafka node as a child process: the peer of interop tests and benchmarks.

with ApacheKafka(tmp_path / "data") as node:
    java_tool("TopicCommand", "--list", "--bootstrap-server", node.bootstrap)
"""

from collections.abc import Mapping
from pathlib import Path

from tests.support.java import DEFAULT_JVM, java_command, java_tool
from tests.support.node import Node

#: Small coordinator topics with one replica, and no wait before a group's first round.
_SINGLE_NODE = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}


class ApacheKafka(Node):
    """Apache Kafka with the JVM options of its own start script, the 1 GB heap among them."""

    kind = "apache"
    clean_exit_codes = (0, 143)  # Java reports the SIGTERM that it obeyed.

    def __init__(
        self,
        directory: Path,
        *,
        settings: Mapping[str, str] | None = None,
        node_id: int = 1,
        port: int | None = None,
        controller_port: int | None = None,
        heap: str = "1G",
    ) -> None:
        super().__init__(
            directory,
            settings=settings,
            node_id=node_id,
            port=port,
            controller_port=controller_port,
        )
        self.heap = heap

    def format_directory(self, cluster_id: str | None) -> None:
        if cluster_id is None:
            cluster_id = java_tool("StorageTool", "random-uuid").stdout.strip()
        java_tool("StorageTool", "format", "-t", cluster_id, "-c", str(self.properties))

    def command(self) -> list[str]:
        jvm = (f"-Xmx{self.heap}", f"-Xms{self.heap}", *DEFAULT_JVM, "-Dheadrace.log.level=INFO")
        return java_command("Kafka", str(self.properties), jvm=jvm)

    def default_settings(self) -> dict[str, str]:
        return dict(_SINGLE_NODE)
