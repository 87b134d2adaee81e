"""Ten thousand partitions on a node that may open a thousand files."""

from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer

from tests.support.headrace_node import HeadraceNode
from tests.support.reading import read_topic
from tests.support.workload import create_topic

_FILES_MAX = 1024
_TOPICS = 5
_PARTITIONS = 2_000
#: Every third partition is written to: more logs than there may be files open.
_WRITTEN = range(0, _PARTITIONS, 3)


class FrugalNode(HeadraceNode):
    """A node under `ulimit -n 1024`, the default of many systems."""

    def command(self) -> list[str]:
        limited = f'ulimit -n {_FILES_MAX} && exec "$0" "$@"'
        return ["sh", "-c", limited, *super().command()]

    @property
    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


def _write(node: FrugalNode, value: str) -> None:
    failures: list[str] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(f"{message.topic()}-{message.partition()}: {error}")

    producer = Producer({"bootstrap.servers": node.bootstrap, "enable.idempotence": True})
    for topic in range(_TOPICS):
        for partition in _WRITTEN:
            producer.produce(
                f"many-{topic}", f"{value} {partition}", partition=partition, on_delivery=delivered
            )
            producer.poll(0)
    assert producer.flush(100) == 0
    assert failures == []


def _check(node: FrugalNode, *values: str) -> None:
    for topic in range(_TOPICS):
        records = read_topic(node, f"many-{topic}", partitions=_PARTITIONS)
        found = [(record.partition, record.offset, record.value) for record in records]
        assert found == [
            (partition, offset, f"{value} {partition}".encode())
            for partition in _WRITTEN
            for offset, value in enumerate(values)
        ]
    assert node.open_files < _FILES_MAX


@pytest.mark.timeout(300)
@pytest.mark.no_second_chance
def test_ten_thousand_partitions_work_with_a_thousand_files(tmp_path: Path) -> None:
    with FrugalNode(tmp_path / "data") as node:
        for topic in range(_TOPICS):
            create_topic(node, f"many-{topic}", _PARTITIONS)
        _write(node, "first")
        _check(node, "first")
        # Some sixty thousand files are new and must be on the disk before a clean end.
        node.stop(timeout=150)
        node.start()
        _write(node, "second")
        node.kill()
        node.start()
        _check(node, "first", "second")
        node.kill()
