"""Kafka Streams with exactly_once_v2: the word count of Apache's own examples.

It keeps its counts in a store with a changelog, moves words through a repartition topic, and sends
every new count to its output. So the committed output says everything: for each word it must be
1, 2, 3 and so on up to the number of times the word was written, whatever died in between.
"""

import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.headrace_node import HeadraceNode, headrace
from tests.support.java import java_command
from tests.support.properties import write_properties
from tests.support.readiness import eventually, tail
from tests.support.reading import read_topic
from tests.support.small_coordinators import SMALL_COORDINATORS
from tests.support.word_feed import WordFeed

PARTITIONS = 3
INPUT = "streams-plaintext-input"
OUTPUT = "streams-wordcount-output"
_NODE = {
    **SMALL_COORDINATORS,
    # So that the place of a killed application is free soon.
    "group.min.session.timeout.ms": "1000",
    "auto.create.topics.enable": "false",
}


class WordCount:
    """WordCountDemo as a child process; its local state outlives it."""

    def __init__(self, node: HeadraceNode, directory: Path) -> None:
        self._properties = directory / "streams.properties"
        self._output = directory / "streams.out"
        write_properties(
            self._properties,
            {
                "bootstrap.servers": node.bootstrap,
                "processing.guarantee": "exactly_once_v2",
                "state.dir": str(directory / "state"),
                "commit.interval.ms": "50",
                "num.stream.threads": "2",
                "replication.factor": "1",
                "consumer.session.timeout.ms": "3000",
                "consumer.heartbeat.interval.ms": "500",
            },
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                java_command(
                    "org.apache.kafka.streams.examples.wordcount.WordCountDemo",
                    str(self._properties),
                ),
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def kill(self) -> None:
        assert self._process is not None
        assert self._process.poll() is None, tail(self._output)
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(60)


@contextmanager
def counting(directory: Path) -> Iterator[tuple[HeadraceNode, WordCount, WordFeed]]:
    """A node with the two topics, the application running on it, and words coming in."""
    with HeadraceNode(directory / "data", settings=_NODE) as node:
        for topic in (INPUT, OUTPUT):
            headrace(
                *("topics", "--bootstrap-server", node.bootstrap),
                *("--create", "--topic", topic, "--partitions", str(PARTITIONS)),
            )
        application = WordCount(node, directory)
        feed = WordFeed(node, INPUT, PARTITIONS)
        application.start()
        feed.start()
        try:
            yield node, application, feed
        finally:
            feed.abandon()
            application.stop()


def counted(node: HeadraceNode) -> dict[str, list[int]]:
    """The counts in the committed output, word by word and in their order."""
    found: dict[str, list[int]] = defaultdict(list)
    for record in read_topic(node, OUTPUT, partitions=PARTITIONS):
        assert record.key is not None
        assert record.value is not None
        found[record.key.decode()].append(int.from_bytes(record.value))
    return dict(found)


def size(node: HeadraceNode) -> int:
    return sum(map(len, counted(node).values()))


def wait_for_more(node: HeadraceNode) -> None:
    """Until the application has committed more than there was."""
    before = size(node)
    eventually(lambda: size(node) > before + 100, timeout=60)


def check(node: HeadraceNode, written: Counter[str]) -> None:
    eventually(lambda: size(node) >= written.total(), timeout=60)
    assert counted(node) == {word: list(range(1, n + 1)) for word, n in written.items()}


@pytest.mark.timeout(240)
@pytest.mark.no_second_chance
def test_every_word_counts_once_though_the_application_is_killed(tmp_path: Path) -> None:
    with counting(tmp_path) as (node, application, feed):
        for _ in range(2):
            wait_for_more(node)
            application.kill()
            application.start()
        wait_for_more(node)
        check(node, feed.finish())


@pytest.mark.timeout(240)
@pytest.mark.no_second_chance
def test_every_word_counts_once_though_the_node_is_killed(tmp_path: Path) -> None:
    with counting(tmp_path) as (node, _, feed):
        for _ in range(2):
            wait_for_more(node)
            node.kill()
            node.start()
        wait_for_more(node)
        check(node, feed.finish())
