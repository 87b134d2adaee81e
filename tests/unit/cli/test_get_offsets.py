"""Which partitions `headrace get-offsets` asks about, and when."""

from __future__ import annotations

import pytest

from headrace.cli.failure import CommandFailedError
from headrace.cli.get_offsets import parse_filter, parse_time
from headrace.cli.main import main
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.unit.client.scripted_broker import Answer, ScriptedBroker

PARTITIONS = [("topic1", index) for index in range(6)] + [("topic2", 0), ("other", 3)]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ("topic1:1", [("topic1", 1)]),
        ("topic1:1-3", [("topic1", 1), ("topic1", 2)]),
        ("topic1:4-", [("topic1", 4), ("topic1", 5)]),
        ("topic1:-2", [("topic1", 0), ("topic1", 1)]),
        ("topic.*:0", [("topic1", 0), ("topic2", 0)]),
        ("other,topic2", [("topic2", 0), ("other", 3)]),
        (":3", [("topic1", 3), ("other", 3)]),
    ],
)
def test_topic_partition_patterns(patterns: str, expected: list[tuple[str, int]]) -> None:
    wanted = parse_filter(patterns, None, None)
    assert [row for row in PARTITIONS if wanted(*row)] == expected


def test_topic_and_partitions() -> None:
    wanted = parse_filter(None, "topic.", "0,3")
    assert [row for row in PARTITIONS if wanted(*row)] == [
        ("topic1", 0),
        ("topic1", 3),
        ("topic2", 0),
    ]


@pytest.mark.parametrize(
    ("patterns", "topic", "partitions"),
    [("a:b-c", None, None), ("a", "b", None), (None, None, "x"), (None, "[", None)],
)
def test_filters_that_make_no_sense(
    patterns: str | None, topic: str | None, partitions: str | None
) -> None:
    with pytest.raises(CommandFailedError):
        parse_filter(patterns, topic, partitions)


def test_times() -> None:
    assert [parse_time(text) for text in ("latest", "-2", "max-timestamp", "123")] == [
        -1,
        -2,
        -3,
        123,
    ]
    with pytest.raises(CommandFailedError, match="Malformed time argument soon"):
        parse_time("soon")


def test_offsets_are_printed_in_kafkas_order(capsys: pytest.CaptureFixture[str]) -> None:
    def script(request: ListOffsetsRequest, _version: int) -> Answer:
        topics = []
        for topic in request.topics:
            rows = [
                ListOffsetsPartitionResponse(
                    partition_index=p.partition_index,
                    offset=-1 if p.partition_index == 1 else 7,
                )
                for p in topic.partitions
            ]
            topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=rows))
        return ListOffsetsResponse(topics=topics)

    with ScriptedBroker({ApiKey.LIST_OFFSETS: script}) as broker:
        broker.topics = {"t": 11}
        assert main(["get-offsets", "--bootstrap-server", broker.address]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["t:0:7", "t:10:7", "t:2:7"]
    assert len(lines) == 10  # partition 1 has no such offset
