"""`headrace pipelines` as a person uses it, from the first run to a reset: one story, told once."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing import EmbeddedKafka
from tests.support.pipelines_command import SECONDS, PipelinesCommand, each_once
from tests.support.readiness import eventually
from tests.support.tools import require_java


@pytest.fixture
def command(node: EmbeddedKafka, tmp_path: Path) -> Iterator[PipelinesCommand]:
    require_java()
    command = PipelinesCommand(node, tmp_path)
    yield command
    command.close()


@pytest.mark.timeout(600)
def test_run_stop_restart_reset(command: PipelinesCommand, node: EmbeddedKafka) -> None:
    node.create_topic("orders", partitions=2)
    command.produce(0, 100)

    # A run in the background; a second one of the same pipeline is refused before Spark starts.
    run = command.start_headrace("pipelines", "run", "orders.py")
    eventually(lambda: command.status("copy") != {} or run.poll() is not None, timeout=SECONDS)
    refused = command.headrace("pipelines", "run", "orders.py", "copy", code=1)
    assert refused.strip().startswith(f"Pipeline copy is running already (process {run.pid})")
    assert "is running: stop it first" in command.headrace(
        "pipelines", "reset", "copy", "--to-earliest", code=1
    )

    # Both have read everything; records arrive while they run; Ctrl-C ends them with nothing lost.
    def both_have(rows: int) -> bool:
        names = ("copy", "counts")
        seen = [command.status(name).get("rowsIn", 0) for name in names]
        return min(seen) >= rows or run.poll() is not None

    eventually(lambda: both_have(100), timeout=SECONDS)
    command.produce(100, 50)
    eventually(lambda: both_have(150), timeout=SECONDS)
    run.send_signal(signal.SIGINT)
    output = command.end(run)
    assert "copy stopped: 150 rows" in output
    assert "Traceback" not in output
    assert command.copied() == each_once(150)
    assert command.lag("copy") == [0, 0]
    assert command.lag("counts") == [0, 0]
    status = json.loads(command.headrace("pipelines", "status", "counts", "-o", "json"))
    (seen,) = status["pipelines"]
    assert (seen["state"], seen["lag"], seen["stateRows"]) == ("stopped", 0, 3)
    assert {"session", "build", "start", "batch"} <= set(seen["firstBatchMs"])

    # A restart goes on exactly where it was; this time with `python FILE`.
    command.produce(150, 30)
    assert sum(command.lag("copy")) == 30
    output = command.end(command.start("orders.py", "--once"))
    assert "copy finished: 30 rows in 1 batch, lag 0." in output
    assert command.copied() == each_once(180)

    # Somebody moves both groups: the stateless one follows, the other refuses and says why.
    for group in ("copy", "counts"):
        command.headrace(
            *("consumer-groups", "--reset-offsets", "--group", group, "--all-topics"),
            *("--to-earliest", "--execute"),
        )
    output = command.run_once(code=1)
    assert "copy: its group copy was moved: orders-0 " in output
    assert "copy finished: 180 rows" in output, output
    assert "counts: failed: The group counts was moved" in output
    assert "`headrace pipelines reset counts --state`" in output
    assert command.copied() == each_once(180) + each_once(180)
    assert command.lag("copy") == [0, 0]

    # Put back, it goes on; with its state dropped, it begins anew.
    command.headrace("pipelines", "reset", "counts", "--to-checkpoint")
    assert "counts finished: 0 rows" in command.run_once("counts")
    refused = command.headrace("pipelines", "reset", "counts", "--to-earliest", code=1)
    assert "add --state to drop it" in refused
    command.headrace("pipelines", "reset", "counts", "--to-earliest", "--state")
    output = command.run_once("counts")
    assert "counts: starts without state where its group counts stands" in output
    assert "counts finished: 180 rows" in output
    described = command.headrace("pipelines", "describe", "counts")
    assert "generation   2" in described
    assert "state        3 rows" in described
    listed = json.loads(command.headrace("pipelines", "list", "-o", "json"))
    assert [row["generation"] for row in listed["pipelines"]] == [2, 2]


@pytest.mark.timeout(300)
def test_stop_ends_a_run_in_another_terminal(
    command: PipelinesCommand, node: EmbeddedKafka
) -> None:
    if "orders" not in node.topics():
        node.create_topic("orders", partitions=2)
    run = command.start_headrace("pipelines", "run", "orders.py", "copy")
    eventually(
        lambda: command.status("copy").get("state") == "running" or run.poll() is not None,
        timeout=SECONDS,
    )
    assert command.headrace("pipelines", "stop", "copy") == "copy has stopped.\n"
    command.end(run)
    assert command.headrace("pipelines", "stop", "copy") == "copy is not running.\n"
    assert command.status("copy")["state"] == "stopped"


_PLAIN = """
from headrace.spark import pipeline

@pipeline
def plain(spark):
    known = spark.read.format("headrace").option("subscribe", "known").load()
    events = spark.readStream.format("headrace").option("subscribe", "events")
    rows = events.option("startingOffsets", "earliest").load().select("key", "value")
    writer = rows.join(known.select("key"), "key").writeStream
    return writer.format("headrace").option("topic", "joined")
"""


@pytest.mark.timeout(300)
def test_plain_reads_and_writes_find_the_brokers_of_the_run(
    command: PipelinesCommand, node: EmbeddedKafka, tmp_path: Path
) -> None:
    for topic in ("known", "events", "joined"):
        node.create_topic(topic)
    node.produce("known", ["x", "x"], keys=["a", "b"])
    node.produce("events", ["1", "2", "3"], keys=["a", "c", "b"])
    (tmp_path / "plain.py").write_text(_PLAIN)
    command.environment["KAFKA_BOOTSTRAP_SERVERS"] = "127.0.0.1:1"
    servers = ("--bootstrap-server", node.bootstrap_servers)
    command.headrace("pipelines", "run", "plain.py", "--once", *servers)
    assert sorted(row.value or b"" for row in node.consume("joined", count=2)) == [b"1", b"3"]


def test_what_is_wrong_with_a_file_is_told_before_spark_starts(
    command: PipelinesCommand, tmp_path: Path
) -> None:
    (tmp_path / "empty.py").write_text("x = 1\n")
    output = command.headrace("pipelines", "run", "empty.py", code=1)
    assert output.startswith("empty.py declares no pipeline")
    environment = {"JAVA_HOME": "", "PATH": str(tmp_path)}
    command.environment |= environment
    output = command.headrace("pipelines", "run", "orders.py", code=1)
    assert output.startswith("Spark needs Java 17 or newer, and there is none")
