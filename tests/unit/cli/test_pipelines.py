"""`headrace pipelines` without Spark: what it shows and refuses from the state directory alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli.main import main
from headrace.spark.pipelines.lock import RunLock
from headrace.spark.pipelines.state_directory import Record, StateDirectory
from headrace.spark.pipelines.statistics import Statistics
from headrace.spark.pipelines.status import RUNNING, RunStatus

_PROGRESS = {
    "timestamp": "2026-11-16T04:00:01.000Z",
    "batchId": 7,
    "batchDuration": 120,
    "numInputRows": 1_234,
    "durationMs": {"addBatch": 90, "triggerExecution": 120},
    "stateOperators": [],
    "sources": [{"endOffset": {"orders": {"0": 1234, "1": 0}}}],
    "sink": {"description": "ForeachBatchSink", "numOutputRows": -1},
}


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StateDirectory:
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(tmp_path))
    return StateDirectory(str(tmp_path))


def has_run(state: StateDirectory, name: str = "orders", *, stateful: bool = False) -> None:
    """As a run that is under way leaves its files."""
    directory = state.pipeline(name)
    source = {"format": "headrace", "options": {"subscribe": "orders"}}
    directory.write_record(
        Record(
            name,
            name,
            stateful=stateful,
            checkpoint=directory.checkpoint(1),
            file="/home/me/orders.py",
            trigger="100 milliseconds",
            sources=[source],
            sink="topic validated",
            bootstrap_servers="localhost:9092",
        )
    )
    status = RunStatus(name, name, Statistics(1_794_801_600_000), state=RUNNING)
    status.statistics.add(_PROGRESS)
    status.lag = {"orders": {"0": 5, "1": 0}}
    status.first_batch_parts = {"session": 4000, "batch": 900}
    directory.write_status(status.as_json(1_794_801_602_000))


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["pipelines", *arguments]) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_an_empty_directory_says_so(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    for action in ("list", "status"):
        assert shown(capsys, action).startswith("No pipeline has run yet")


def test_a_running_pipeline_shows_its_numbers(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(state)
    lock = RunLock(state.pipeline("orders").lock)
    assert lock.acquire()
    header, row = shown(capsys, "status").splitlines()
    lock.release()
    assert header.split()[:4] == ["PIPELINE", "STATE", "ROWS/S", "ROWS"]
    assert row.split() == ["orders", "running", "1,234", "1,234", "5", "120", "ms", "1", "-"]


def test_a_run_that_was_killed_is_shown_as_dead(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(state)
    found = json.loads(shown(capsys, "status", "orders", "-o", "json"))
    assert found["pipelines"][0]["state"] == "died"
    listed = json.loads(shown(capsys, "list", "-o", "json"))
    assert listed["pipelines"][0]["file"] == "/home/me/orders.py"


def test_describe_tells_sources_sink_and_partitions(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(state)
    text = shown(capsys, "describe", "orders")
    for expected in (
        "reads        orders (headrace)",
        "writes       topic validated",
        "group        orders at localhost:9092",
        "state        none",
        "first batch  4900 ms (session 4000 ms, batch 900 ms)",
        "orders          0   1,234    5",
    ):
        assert expected in text


def test_an_unknown_name_is_told_the_known_ones(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(state)
    for action in ("describe", "status", "stop"):
        assert "No pipeline other has run here" in shown(capsys, action, "other", code=1)
    assert shown(capsys, "stop", "orders") == "orders is not running.\n"


def test_a_reset_needs_something_to_reset(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(state, stateful=True)
    assert "say what to reset" in shown(capsys, "reset", "orders", code=2)
    text = shown(capsys, "reset", "orders", "--state", "--to-checkpoint", code=2)
    assert "leave --state" in text
    text = shown(capsys, "reset", "orders", "--to-earliest", code=1)
    assert "add --state to drop it" in text


def test_a_dropped_state_is_remembered_for_the_next_start(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(state, stateful=True)
    assert "starts without its state next time" in shown(capsys, "reset", "orders", "--state")
    record = state.pipeline("orders").read_record()
    assert record is not None
    assert record.drop_state
    assert "dropped at the next start" in shown(capsys, "describe", "orders")


def test_a_damaged_record_is_shown_and_hides_no_others(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("orders", "payments", "counts"):
        has_run(state, name)
    Path(state.pipeline("orders").path, "pipeline.json").write_text('{"name": "ord')
    Path(state.pipeline("payments").path, "pipeline.json").write_text("[]")
    for action in ("list", "status"):
        found = json.loads(shown(capsys, action, "-o", "json"))["pipelines"]
        states = {row["name"]: row["state"] for row in found}
        assert states == {"orders": "damaged", "payments": "damaged", "counts": "died"}
        assert "orders/pipeline.json is damaged: " in shown(capsys, action)
    assert "is damaged" in shown(capsys, "describe", "orders", code=1)


_HOLDER = """
import signal, sys
from headrace.spark.pipelines.lock import RunLock
locks = [RunLock(path) for path in sys.argv[1:]]
print(all(lock.acquire() for lock in locks), flush=True)
signal.pause()
"""


def test_stop_says_what_else_it_stops(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("orders", "counts", "other"):
        has_run(state, name)
    locks = [state.pipeline(name).lock for name in ("orders", "counts")]
    command = [sys.executable, "-c", _HOLDER, *locks]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        text = shown(capsys, "stop", "orders")
    assert f"counts stops as well: it runs in the same process ({holder.pid}).\n" in text
    assert "orders has stopped.\n" in text
    assert "counts has stopped.\n" in text
    assert "other" not in text


def test_a_reset_asks_for_the_passwords_that_are_not_recorded(
    state: StateDirectory, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    has_run(state)
    record = state.pipeline("orders").read_record()
    assert record is not None
    record.sources[0]["options"] |= {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "kafka.sasl.jaas.config": "(hidden)",
    }
    state.pipeline("orders").write_record(record)
    text = shown(capsys, "reset", "orders", "--to-earliest", code=1)
    assert text.startswith("127.0.0.1:1 asks for sasl.jaas.config, which the record of pipeline")
    assert "--command-config" in text
    (tmp_path / "secret.properties").write_text("sasl.jaas.config=x\n")
    config = ("--command-config", str(tmp_path / "secret.properties"))
    text = shown(capsys, "reset", "orders", "--to-earliest", *config, code=1)
    assert text.startswith("No broker can be reached at 127.0.0.1:1")


def test_the_commands_load_without_pyspark() -> None:
    program = (
        "import sys; sys.modules['pyspark'] = None; from headrace.cli.main import main;"
        " code = main(['pipelines', 'list', '--state-dir', '/nonexistent']);"
        " heavy = {'numpy', 'pyarrow', 'py4j'} & set(sys.modules); sys.exit(code or bool(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
