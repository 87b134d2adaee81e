"""A new checkpoint after an old one: where it begins, and with which number."""

import json
from pathlib import Path

import pytest

from headrace.spark.errors import PipelineError
from headrace.spark.pipelines.checkpoint_files import last_finished
from headrace.spark.pipelines.next_generation import check_output, continue_numbers

_CONF = '{"batchWatermarkMs":0,"batchTimestampMs":17,"conf":{"spark.sql.shuffle.partitions":"2"}}'


def old(path: Path, *sources: object, planned: int = 12) -> str:
    (path / "old" / "offsets").mkdir(parents=True)
    for batch_id in (9, planned):
        lines = ["v1", _CONF, *(json.dumps(source) for source in sources)]
        (path / "old" / "offsets" / str(batch_id)).write_text("\n".join(lines))
    return str(path / "old")


def test_numbers_go_on_after_the_last_batch_that_was_planned(tmp_path: Path) -> None:
    before = old(tmp_path, {"a": {"0": 5, "1": 6}}, {"b": {"0": 7}})
    after = str(tmp_path / "new")
    assert continue_numbers(before, after, {"a": {"0": 1, "1": 2, "2": 0}}, 2)
    found = last_finished(after)
    assert found is not None
    assert found.batch_id == 12
    assert found.sources == [{"a": {"0": 1, "1": 2, "2": 0}}, {"b": {"0": 7}}]
    assert (tmp_path / "new" / "offsets" / "12").read_text().splitlines()[1] == _CONF


@pytest.mark.parametrize(
    ("sources", "count"),
    [([{"a": {"0": 5}}, 17], 2), ([{"a": {"0": 5}}], 2), ([{"a": {"0": 5}}, {"logOffset": 3}], 2)],
)
def test_other_sources_or_another_number_of_them_begin_anew(
    tmp_path: Path, sources: list[object], count: int
) -> None:
    before, after = old(tmp_path, *sources), str(tmp_path / "new")
    assert not continue_numbers(before, after, {"a": {"0": 1}}, count)
    assert not (tmp_path / "new").exists()


def test_a_checkpoint_elsewhere_or_without_batches_begins_anew(tmp_path: Path) -> None:
    assert not continue_numbers("s3a://bucket/old", str(tmp_path / "new"), {"a": {"0": 1}}, 1)
    assert not continue_numbers(str(tmp_path), str(tmp_path / "new"), {"a": {"0": 1}}, 1)


def test_an_output_that_would_skip_the_batches_is_told(tmp_path: Path) -> None:
    check_output("orders", "ForeachBatchSink")
    check_output("orders", f"FileSink[{tmp_path}]")
    (tmp_path / "_spark_metadata").mkdir()
    with pytest.raises(PipelineError, match="would skip the batches whose numbers it has"):
        check_output("orders", f"FileSink[file://{tmp_path}]")
