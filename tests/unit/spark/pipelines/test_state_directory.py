"""Records, generations, locks and what Spark's checkpoints say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.spark.errors import PipelineError
from headrace.spark.pipelines.checkpoint_files import is_stateful, kafka_offsets, last_finished
from headrace.spark.pipelines.lock import Holder, RunLock, holder_of, process_start
from headrace.spark.pipelines.state_directory import Record, StateDirectory


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    directory = StateDirectory(str(tmp_path)).pipeline("orders")
    assert directory.read_record() is None
    record = Record("orders", "g", 3, "/c", {"t": {"0": 1}}, stateful=True, batch=9)
    directory.write_record(record)
    assert directory.read_record() == record
    assert sorted(os.listdir(directory.path)) == ["pipeline.json"]


def test_a_record_of_a_newer_version_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    directory = StateDirectory(str(tmp_path)).pipeline("orders")
    os.makedirs(directory.path)
    Path(directory.path, "pipeline.json").write_text('{"name": "a", "group": "b", "new": 1}')
    assert directory.read_record() == Record("a", "b")


def test_a_damaged_record_is_one_sentence(tmp_path: Path) -> None:
    directory = StateDirectory(str(tmp_path)).pipeline("orders")
    os.makedirs(directory.path)
    Path(directory.path, "pipeline.json").write_text('{"name": ')
    with pytest.raises(PipelineError, match="is damaged"):
        directory.read_record()


def test_the_directory_is_named_by_option_then_environment_then_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(tmp_path / "env"))
    assert StateDirectory.find(str(tmp_path / "given")).path == str(tmp_path / "given")
    assert StateDirectory.find().path == str(tmp_path / "env")
    monkeypatch.delenv("HEADRACE_STATE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert StateDirectory.find().path == str(tmp_path / ".headrace" / "pipelines")


def test_an_unknown_pipeline_is_told_those_that_are_known(tmp_path: Path) -> None:
    state = StateDirectory(str(tmp_path))
    with pytest.raises(PipelineError, match="has none yet"):
        state.existing("orders")
    state.pipeline("counts").write_record(Record("counts", "counts"))
    with pytest.raises(PipelineError, match="has counts"):
        state.existing("orders")


def test_the_generation_before_is_kept_and_older_ones_go(tmp_path: Path) -> None:
    directory = StateDirectory(str(tmp_path)).pipeline("orders")
    for number in (1, 2, 3):
        os.makedirs(directory.checkpoint(number))
    directory.remove_old_generations(3)
    assert sorted(os.listdir(directory.path)) == ["gen-0002", "gen-0003"]


def test_checkpoints_may_lie_below_another_root(tmp_path: Path) -> None:
    directory = StateDirectory(str(tmp_path)).pipeline("orders")
    assert directory.checkpoint(2, "s3a://b/x/") == "s3a://b/x/orders/gen-0002/checkpoint"


# -------------------------------------------------------------------- locks

_HOLD = """
import sys
from headrace.spark.pipelines.lock import RunLock
assert RunLock(sys.argv[1]).acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_is_one_processs_and_goes_with_it(tmp_path: Path) -> None:
    path = str(tmp_path / "orders" / "lock")
    other = subprocess.Popen(
        [sys.executable, "-c", _HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"held\n"
    assert not RunLock(path).acquire()
    holder = holder_of(path)
    assert holder is not None
    assert holder.pid == other.pid
    other.kill()
    other.communicate()
    assert holder_of(path) is None
    assert not holder.is_alive
    mine = RunLock(path)
    assert mine.acquire()
    mine.release()
    assert holder_of(path) is None


def test_a_process_id_given_out_again_is_another_process() -> None:
    started = process_start(os.getpid())
    assert Holder(os.getpid(), started).is_alive
    assert started == 0 or not Holder(os.getpid(), started + 1).is_alive


def test_nobody_holds_a_lock_that_was_never_taken(tmp_path: Path) -> None:
    assert holder_of(str(tmp_path / "none")) is None


# -------------------------------------------------------------------- Spark's files


def write_batch(checkpoint: Path, batch_id: int, *sources: str, finished: bool) -> None:
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True, exist_ok=True)
    lines = ["v1", '{"batchWatermarkMs":0}', *sources]
    (checkpoint / "offsets" / str(batch_id)).write_text("\n".join(lines))
    (checkpoint / "offsets" / f".{batch_id}.crc").write_text("x")
    if finished:
        (checkpoint / "commits" / str(batch_id)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def test_a_checkpoint_stands_at_its_last_finished_batch(tmp_path: Path) -> None:
    write_batch(tmp_path, 9, '{"t":{"0":5}}', finished=True)
    write_batch(tmp_path, 10, '{"t":{"0":7}}', "-", finished=True)
    write_batch(tmp_path, 11, '{"t":{"0":9}}', "3", finished=False)
    found = last_finished(f"file://{tmp_path}")
    assert found is not None
    assert (found.batch_id, found.sources) == (10, [{"t": {"0": 7}}, None])
    assert kafka_offsets(found.sources) == {"t": {"0": 7}}


def test_a_checkpoint_without_a_batch_or_elsewhere_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "commits").mkdir()
    assert last_finished(str(tmp_path)) is None
    assert is_stateful(str(tmp_path)) is None
    assert last_finished("s3a://bucket/x") is None


def test_state_is_seen_in_the_checkpoint(tmp_path: Path) -> None:
    write_batch(tmp_path, 0, "{}", finished=True)
    assert is_stateful(str(tmp_path)) is False
    (tmp_path / "state").mkdir()
    assert is_stateful(str(tmp_path)) is True
