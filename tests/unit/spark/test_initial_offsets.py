"""Where a query began is the same at a restart, unless it is asked to begin elsewhere."""

from pathlib import Path

import pytest

from headrace.spark.initial_offsets import recall, remember
from headrace.spark.options import SourceOptions

_OFFSETS = {("orders", 0): 12, ("orders", 1): 0}


def options(path: Path | None, **more: str) -> SourceOptions:
    given = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders", **more}
    if path is not None:
        given["headrace.initial.offsets.file"] = str(path)
    return SourceOptions.parse(given, is_streaming=True)


def test_the_first_start_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / "gen-0001" / "initial-0.json"
    assert recall(options(path)) is None
    remember(options(path), _OFFSETS)
    assert recall(options(path)) == _OFFSETS
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("change", [{"startingOffsets": "earliest"}, {"subscribe": "payments"}])
def test_another_beginning_or_topic_is_not_taken_for_the_old_one(
    tmp_path: Path, change: dict[str, str]
) -> None:
    path = tmp_path / "initial-0.json"
    remember(options(path), _OFFSETS)
    assert recall(options(path, **change)) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"of": 1, "offsets": 2}', "null"])
def test_a_damaged_file_is_as_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "initial-0.json"
    path.write_text(text)
    assert recall(options(path)) is None


def test_without_a_runner_nothing_is_written(tmp_path: Path) -> None:
    remember(options(None), _OFFSETS)
    assert recall(options(None)) is None
    assert list(tmp_path.iterdir()) == []
