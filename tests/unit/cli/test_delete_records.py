"""The file of `headrace delete-records`: what it names is deleted, and nothing near it."""

from __future__ import annotations

import json

import pytest

from headrace.cli.delete_records import parse_offsets
from headrace.cli.failure import CommandFailedError


def document(topic: object, partition: object, offset: object) -> str:
    row = {"topic": topic, "partition": partition, "offset": offset}
    return json.dumps({"partitions": [row], "version": 1})


@pytest.mark.parametrize("offset", [-1, 0, 2**63 - 1])
def test_every_offset_that_there_is(offset: int) -> None:
    assert parse_offsets(document("t", 2**31 - 1, offset)) == {("t", 2**31 - 1): offset}


@pytest.mark.parametrize(
    ("partition", "offset"),
    [(0, 2**63), (0, 2**70), (0, -2), (0, 1.5), (0, "1"), (0, True), (2**31, 1), (0.0, 1)],
)
def test_a_number_that_is_no_offset_or_partition_is_not_rounded(
    partition: object, offset: object
) -> None:
    with pytest.raises(CommandFailedError, match="Each partition needs a topic, a partition and"):
        parse_offsets(document("t", partition, offset))


@pytest.mark.parametrize("topic", [["a"], {"a": 1}, 5, None, True])
def test_a_topic_that_is_no_name_is_refused_in_one_sentence(topic: object) -> None:
    with pytest.raises(CommandFailedError, match="Each partition needs a topic, a partition and"):
        parse_offsets(document(topic, 0, 1))
