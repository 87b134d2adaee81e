"""Consumer groups go as they go with Apache Kafka: every answer, and every record that is written.

The scenarios are those of our coordinator, with our answers in them. Only those are played that
have one topic and no waiting: with more, Apache Kafka's choice depends on the ids of the topics.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from tests.support.apache_kafka import ApacheKafka
from tests.support.consumer_group_talk import Talk, told
from tests.support.headrace_node import HeadraceNode
from tests.support.node import Node

_SCENARIOS = Path(__file__).parents[1] / "unit" / "groups" / "consumer" / "scenarios"
PLAYED = (
    "lost_answers",
    "offsets",
    "three_members",
    "changing_topics",
    "regex_once",
    "leaving",
    "static_members",
    "upgrade",
    "downgrade",
    "downgrade_by_replacement",
    "other_types",
)


#: Scenarios with the paragraph before which the other node takes over.
EXCHANGED = {
    "three_members": "# A target that changes",
    "static_members": "# The old id is fenced",
    "upgrade": "# The old member joins again",
}
SETTINGS = {
    "group.consumer.assignment.interval.ms": "0",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    directory = tmp_path_factory.mktemp("consumer-groups") / "data"
    with ApacheKafka(directory, settings=SETTINGS, heap="512M") as apache:
        yield apache


@pytest.mark.parametrize("name", PLAYED)
def test_apache_kafka_tells_the_same_story(name: str, node: ApacheKafka) -> None:
    text = (_SCENARIOS / f"{name}.txt").read_text()
    answers, records = told(text)
    with Talk(node, name) as talk:
        talk.play(text)
    assert talk.answers == answers
    assert in_fixed_order(talk.records()) == in_fixed_order(records)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("first", "second"),
    [(HeadraceNode, ApacheKafka), (ApacheKafka, HeadraceNode)],
    ids=["headrace first", "apache first"],
)
@pytest.mark.no_second_chance
def test_a_group_goes_on_when_the_other_node_opens_the_directory(
    first: type[Node], second: type[Node], tmp_path: Path
) -> None:
    texts = {name: (_SCENARIOS / f"{name}.txt").read_text() for name in EXCHANGED}
    talks = {}
    with first(tmp_path / "data", settings=SETTINGS) as node:
        for name, text in texts.items():
            talks[name] = Talk(node, name)
            with talks[name] as talk:
                talk.play(text[: text.index(EXCHANGED[name])])
    with second(tmp_path / "data", settings=SETTINGS) as node:
        for name, text in texts.items():
            talk = talks[name]
            talk.move_to(node)
            talk.play(text[text.index(EXCHANGED[name]) :])
            talk.hang_up()
            answers, records = told(text)
            assert talk.answers == answers
            assert in_fixed_order(talk.records()) == in_fixed_order(records)


def in_fixed_order(records: list[str]) -> list[str]:
    """Neighbours of one kind, for instance the targets of all members, come in any order."""
    runs = groupby(records, key=lambda line: line.split()[:2])
    return [line for _, run in runs for line in sorted(run)]
