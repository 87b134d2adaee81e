"""Several data directories and one for metadata: Headrace, Apache Kafka and Headrace again."""

from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.apache_kafka import ApacheKafka
from tests.support.dump import dump_directory
from tests.support.headrace_node import HeadraceNode
from tests.support.node import Node
from tests.support.reading import read_topics
from tests.support.tool_jvm import ToolJvm
from tests.support.workload import create_topic

pytestmark = pytest.mark.no_second_chance

_TOPICS = {f"spread-{number}": 2 for number in range(5)}
_SMALL = {"internal.segment.bytes": "2000", "index.interval.bytes": "200"}
_COUNT = 100


@pytest.mark.timeout(240)
def test_three_directories_go_to_apache_and_back(tmp_path: Path, tools: ToolJvm) -> None:
    one, other, metadata = (tmp_path / name for name in ("one", "other", "metadata"))
    settings = {"log.dirs": f"{one},{other}", "metadata.log.dir": str(metadata)}
    topics = dict(_TOPICS)
    with HeadraceNode(one, settings=settings) as node:
        for topic, partitions in topics.items():
            create_topic(node, topic, partitions, _SMALL)
        _write(node, topics, 0)
        _check(node, topics, 1)
    placed = [_partitions(one), _partitions(other)]
    # Each has its share, and metadata lies apart.
    assert min(len(names) for names in placed) > 1
    assert sorted(placed[0] + placed[1]) == sorted(f"{t}-{p}" for t in topics for p in (0, 1))
    assert _partitions(metadata) == ["__cluster_metadata-0"]
    _dump(tools, one, other, metadata)

    with ApacheKafka(one, settings=settings, heap="384M") as node:
        _check(node, topics, 1)
        _write(node, topics, 1)
        create_topic(node, "of-apache", 2, _SMALL)
        topics["of-apache"] = 2
        _write(node, {"of-apache": 2}, 0)
        _write(node, {"of-apache": 2}, 1)
        _check(node, topics, 2)
    assert set(placed[0]) <= set(_partitions(one))
    assert set(placed[1]) <= set(_partitions(other))
    _dump(tools, one, other, metadata)

    with HeadraceNode(one, settings=settings) as node:
        _check(node, topics, 2)
        _write(node, topics, 2)
        _check(node, topics, 3)
    _dump(tools, one, other, metadata)


def _write(node: Node, topics: dict[str, int], number: int) -> None:
    """Some records to every partition, others in every round."""
    options = {"enable.idempotence": True, "batch.num.messages": 10, "log_level": 0}
    producer = Producer({"bootstrap.servers": node.bootstrap, **options})
    for value in range(number * _COUNT, (number + 1) * _COUNT):
        for topic, partitions in topics.items():
            for partition in range(partitions):
                producer.produce(topic, b"v%d" % value, partition=partition)
    assert producer.flush(60) == 0


def _check(node: Node, topics: dict[str, int], rounds: int) -> None:
    """What that many rounds wrote is there, at its offsets."""
    for topic, records in read_topics(node, topics).items():
        assert [(one.partition, one.offset, one.value) for one in records] == [
            (partition, offset, b"v%d" % offset)
            for partition in range(topics[topic])
            for offset in range(rounds * _COUNT)
        ], topic


def _partitions(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if path.is_dir())


def _dump(tools: ToolJvm, *directories: Path) -> None:
    for directory in directories:
        dump_directory(directory, tools)
