"""`headrace pipelines load` before Spark starts: what it asks for, and what it refuses."""

import argparse
from pathlib import Path

import pytest

from headrace.cli.main import main
from headrace.cli.pipelines_load import add_load_parser, options_of, partitions_of, summary
from headrace.spark.pipelines.lock import RunLock
from headrace.spark.stores.topic_loads import TopicLoad
from headrace.testing import EmbeddedKafka


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_load_parser(parser.add_subparsers(dest="action"))
    return parser.parse_args(["load", "orders", "/data", *arguments])


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 1) -> str:
    assert main(["pipelines", "load", *arguments]) == code
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"), [("3", [3]), ("2,0", [0, 2]), ("0, 4-6,5", [0, 4, 5, 6])]
)
def test_partitions_are_numbers_and_ranges_of_them(text: str, expected: list[int]) -> None:
    assert partitions_of(text) == expected


@pytest.mark.parametrize("text", ["", "x", "1,", "-1", "3-1", "1-x", "0-9999999999"])
def test_other_words_are_no_partitions(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        partitions_of(text)


def test_what_is_said_last_and_nearest_names_the_brokers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = "kafka.bootstrap.servers"
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    assert options_of(parsed())[servers] == "localhost:9092"
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "environment:1")
    assert options_of(parsed())[servers] == "environment:1"
    (tmp_path / "client.properties").write_text("bootstrap.servers=file:2\nclient.id=cron\n")
    config = ("--command-config", str(tmp_path / "client.properties"))
    found = options_of(parsed(*config, "--option", "failOnDataLoss=false"))
    assert found == {servers: "file:2", "kafka.client.id": "cron", "failOnDataLoss": "false"}
    assert options_of(parsed(*config, "--bootstrap-server", "option:3"))[servers] == "option:3"


def test_a_load_waits_its_turn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two at once, as from an impatient cron, would take the same records."""
    arguments = ("orders", str(tmp_path / "data"), "--state-dir", str(tmp_path / "state"))
    nowhere = ("--bootstrap-server", "127.0.0.1:1", "--option", "kafka.default.api.timeout.ms=1")
    refused(capsys, *arguments, *nowhere)
    (file,) = (tmp_path / "state" / ".loads").iterdir()
    lock = RunLock(str(file))
    assert lock.acquire()
    assert "Another load 'load' of orders" in refused(capsys, *arguments, *nowhere)
    other = refused(capsys, *arguments, *nowhere, "--name", "other")
    assert "Another load" not in other
    lock.release()


def test_the_summary_says_where_the_next_load_begins() -> None:
    ending = {"orders": {"0": 12, "1": 1300}}
    done = TopicLoad({"orders": {"0": 0, "1": 0}}, ending, 1312, files=1, bytes=45_000)
    text = summary("orders", "/data", done, 4.2)
    assert text == (
        "orders: 1,312 offsets in 1 file (45.0 kB) below /data, 4.2 s; it ends at"
        ' {"0": 12, "1": 1300}.'
    )
    nothing = summary("orders", "/data", TopicLoad(ending, ending, 0), 1.0)
    assert nothing == "orders: nothing new since the last load."


def test_mistakes_are_told_in_a_sentence_before_spark_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    nobody = ("--bootstrap-server", "127.0.0.1:1", "--option", "fetchOffset.numRetries=1")
    assert refused(capsys, "orders", out, *nobody).startswith("No broker can be reached at 127.")
    text = refused(capsys, "orders", out, *nobody, "--option", "endingOffsets=latest")
    assert text.startswith("endingOffsets is not an option of a load")
    text = refused(capsys, "orders", out, *nobody, "--option", "failOnDataLoss=perhaps")
    assert text.startswith("failOnDataLoss is true or false")
    assert "takes one topic" in refused(capsys, "orders,payments", out, *nobody, code=2)
    with EmbeddedKafka() as kafka:
        kafka.create_topic("orders", partitions=2)
        servers = ("--bootstrap-server", kafka.bootstrap_servers)
        text = refused(capsys, "orders", out, *servers, "--partitions", "1,2")
        assert text.startswith("No such topic or partition: orders-2.")
    assert not (tmp_path / "out").exists()
