"""Where the brokers of a run live: one scratch directory for both sides, on one disk."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.peer import Peer
from bench.rows import Side
from tests.support.apache_kafka import ApacheKafka
from tests.support.headrace_node import HeadraceNode
from tests.support.node import Node
from tests.support.tools import JAVA_LIB, REPOSITORY

#: On the disk of the checkout; a system's temporary directory may be memory.
SCRATCH = REPOSITORY / ".cache" / "bench"

#: Both sides run on their defaults, but deleted topics leave the disk at once.
SETTINGS = {"log.segment.delete.delay.ms": "1000", "auto.create.topics.enable": "false"}

NodeClass = Callable[..., Node]
NODES: Mapping[Side, NodeClass] = {Side.HEADRACE: HeadraceNode, Side.APACHE: ApacheKafka}
#: Apache Kafka on both sides: every ratio should come out near 1, or the harness is unfair.
SELF_CHECK: Mapping[Side, NodeClass] = {Side.HEADRACE: ApacheKafka, Side.APACHE: ApacheKafka}

_CLUSTER_ID = "aGVhZHJhY2UtYmVuY2gtMQ"


@dataclass(frozen=True, slots=True)
class Brokers:
    """Starts brokers of both sides below one directory."""

    directory: Path
    nodes: Mapping[Side, NodeClass]

    @contextmanager
    def running(
        self, side: Side, name: str, settings: Mapping[str, str] | None = None
    ) -> Iterator[Peer]:
        """A broker on the directory of that name, formatted first if it is new."""
        directory = self.data_directory(side, name)
        node = self.nodes[side](directory, settings={**SETTINGS, **(settings or {})})
        if not node.is_formatted:
            node.format(_CLUSTER_ID)
        with node:
            yield Peer(side, node, time.monotonic())

    def data_directory(self, side: Side, name: str) -> Path:
        return self.directory / f"{side}-{name}"

    def remove(self, side: Side, name: str) -> None:
        """Remove a stopped broker's data."""
        for path in self.directory.glob(f"{side}-{name}*"):
            shutil.rmtree(path)


@contextmanager
def brokers_below(
    scratch: Path, *, gigabytes: float, nodes: Mapping[Side, NodeClass] = NODES
) -> Iterator[Brokers]:
    """Brokers on a fresh directory that is removed at the end, given enough free space."""
    if not any(JAVA_LIB.glob("kafka-clients-*.jar")):
        raise SystemExit("Apache Kafka's jars are not there; `make java` fetches them.")
    scratch.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(scratch).free / 1e9
    if free < gigabytes:
        raise SystemExit(
            f"The benchmark needs {gigabytes:.0f} GB of free space below {scratch}; "
            f"there are {free:.1f} GB."
        )
    with tempfile.TemporaryDirectory(dir=scratch, prefix="run-") as directory:
        yield Brokers(Path(directory), nodes)


def settle() -> None:
    """Write back what earlier work left dirty, so that the next measurement does not pay."""
    os.sync()
