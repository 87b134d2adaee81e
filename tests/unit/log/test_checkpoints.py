"""Kafka's offset checkpoint files."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.log.checkpoints import (
    CLEANER_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    CheckpointError,
    OffsetCheckpoint,
    TopicPartition,
)

TOPICS = st.text(alphabet="abc._-XYZ019", min_size=1, max_size=40)


def checkpoint_with(directory: Path, text: str) -> OffsetCheckpoint:
    (directory / RECOVERY_POINT_CHECKPOINT).write_text(text)
    return OffsetCheckpoint(str(directory), RECOVERY_POINT_CHECKPOINT)


def test_the_file_is_what_kafka_writes(tmp_path: Path) -> None:
    checkpoint = OffsetCheckpoint(str(tmp_path), RECOVERY_POINT_CHECKPOINT)
    checkpoint.write({("a", 0): 1, ("my-topic", 12): 9_000_000_000})
    text = (tmp_path / "recovery-point-offset-checkpoint").read_text()
    assert text == "0\n2\na 0 1\nmy-topic 12 9000000000\n"
    assert os.listdir(tmp_path) == ["recovery-point-offset-checkpoint"]


def test_no_offsets_are_two_lines(tmp_path: Path) -> None:
    checkpoint = OffsetCheckpoint(str(tmp_path), CLEANER_CHECKPOINT)
    checkpoint.write({})
    assert (tmp_path / CLEANER_CHECKPOINT).read_text() == "0\n0\n"
    assert checkpoint.read() == {}


@given(st.dictionaries(st.tuples(TOPICS, st.integers(0, 9999)), st.integers(0, 1 << 62)))
def test_what_is_written_is_read(offsets: dict[TopicPartition, int]) -> None:
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # spares a disk the fsyncs
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        checkpoint = OffsetCheckpoint(directory, RECOVERY_POINT_CHECKPOINT)
        checkpoint.write(offsets)
        assert checkpoint.read() == offsets


def test_a_missing_or_fresh_file_has_no_offsets(tmp_path: Path) -> None:
    checkpoint = OffsetCheckpoint(str(tmp_path), CLEANER_CHECKPOINT)
    assert checkpoint.read() == {}
    checkpoint.create_if_missing()
    assert (tmp_path / CLEANER_CHECKPOINT).read_bytes() == b""
    assert checkpoint.read() == {}


def test_creating_leaves_an_existing_file_alone(tmp_path: Path) -> None:
    checkpoint = checkpoint_with(tmp_path, "0\n1\na 0 5\n")
    checkpoint.create_if_missing()
    assert checkpoint.read() == {("a", 0): 5}


def test_equal_offsets_are_not_written_again(tmp_path: Path) -> None:
    checkpoint = OffsetCheckpoint(str(tmp_path), CLEANER_CHECKPOINT)
    assert checkpoint.write({("a", 0): 1})
    assert not checkpoint.write({("a", 0): 1})
    assert checkpoint.write({("a", 0): 2})


def test_what_is_to_be_kept_stands_in_every_later_write(tmp_path: Path) -> None:
    OffsetCheckpoint(str(tmp_path), CLEANER_CHECKPOINT).write({("a", 0): 1, ("b", 0): 2})
    checkpoint = OffsetCheckpoint(str(tmp_path), CLEANER_CHECKPOINT)
    checkpoint.keep([("a", 0), ("z", 9)])
    checkpoint.write({("c", 0): 3})
    assert checkpoint.read() == {("a", 0): 1, ("c", 0): 3}
    checkpoint.write({})
    assert checkpoint.read() == {("a", 0): 1}


def test_a_failed_write_keeps_the_old_file_and_is_tried_again(tmp_path: Path) -> None:
    checkpoint = OffsetCheckpoint(str(tmp_path), CLEANER_CHECKPOINT)
    checkpoint.write({("a", 0): 1})
    blocker = tmp_path / (CLEANER_CHECKPOINT + ".tmp")
    blocker.mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        checkpoint.write({("a", 0): 2})
    assert checkpoint.read() == {("a", 0): 1}
    blocker.rmdir()
    assert checkpoint.write({("a", 0): 1})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1\n0\n", "version '1'"),
        ("x\n", "begins with 'x'"),
        ("0\n2\na 0 1\n", "promises 2 entries and has 1"),
        ("0\n1\na 0 1\nb 0 1\n", "promises 1 entries and has 2"),
        ("0\nmany\na 0 1\n", "promises many"),
        ("0\n1\na 0\n", "malformed line: 'a 0'"),
        ("0\n1\na 0 x\n", "malformed line"),
        ("0\n1\na b c 1\n", "malformed line"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with pytest.raises(CheckpointError, match=complaint) as caught:
        checkpoint_with(tmp_path, text).read()
    assert RECOVERY_POINT_CHECKPOINT in str(caught.value)


def test_bytes_that_are_no_text_are_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / CLEANER_CHECKPOINT).write_bytes(b"0\n1\n\xff\xfe 0 1\n")
    with pytest.raises(CheckpointError, match="not a text file"):
        OffsetCheckpoint(str(tmp_path), CLEANER_CHECKPOINT).read()
