"""`producer-perf-test`, `consumer-perf-test` and `e2e-latency` against a node."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.cli.main import main
from headrace.testing import EmbeddedKafka

PRODUCE = ("--num-records", "20", "--throughput", "-1", "--record-size", "10")


@pytest.fixture(scope="module")
def node() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka() as kafka:
        yield kafka


@pytest.fixture
def server(node: EmbeddedKafka) -> tuple[str, ...]:
    """The options that name the node and a topic of its own."""
    return "--bootstrap-server", node.bootstrap_servers, "--topic", node.topic()


def objects(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_json_is_an_object_for_each_line(
    server: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    warmup = ("--warmup-records", "5", "--print-metrics")
    assert main(["producer-perf-test", *server, *PRODUCE, *warmup, "-o", "json"]) == 0
    total, steady, metrics = objects(capsys)
    assert [row["kind"] for row in (total, steady, metrics)] == ["total", "steady", "metrics"]
    assert (total["records"], steady["records"]) == (20, 15)
    assert set(total["latencyPercentilesMs"]) == {"50th", "95th", "99th", "99.9th"}
    assert metrics["metrics"]["txmsgs"] == 20

    assert main(["consumer-perf-test", *server, "--num-records", "20", "-o", "json"]) == 0
    (summary,) = objects(capsys)
    assert (summary["kind"], summary["data.consumed.in.nMsg"]) == ("summary", 20)

    args = ("--num-records", "2", "--producer-acks", "all", "--record-size", "10")
    assert main(["e2e-latency", *server, *args, "-o", "json"]) == 0
    progress, total = objects(capsys)
    assert (progress["kind"], progress["record"]) == ("progress", 0)
    assert (total["kind"], total["records"]) == ("total", 2)


def test_print_metrics_ends_with_a_table_of_the_librarys_statistics(
    server: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["producer-perf-test", *server, *PRODUCE, "--print-metrics"]) == 0
    _, _, heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == ["Metric", "Name", "Value"]
    values = dict(row.split(" : ") for row in rows)
    assert {name.strip(): value for name, value in values.items()}["txmsgs"] == "20.000"


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("a:1", "t", "5"), "Expected 5 or 6 positional arguments, but got 3."),
        (("a:1", "t", "5", "0", "9"), "Please use '1' or 'all'."),
        (("a:1", "t", "five", "1", "9"), "--num-records is a number, not five."),
        (("--topic", "t"), "Missing required argument: --num-records, "),
    ],
)
def test_arguments_without_names_that_make_no_sense(
    args: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["e2e-latency", *args]) == 2
    assert sentence in capsys.readouterr().err


def test_without_confluent_kafka_one_sentence_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    assert main(["producer-perf-test", "--topic", "t", *PRODUCE]) == 1
    assert capsys.readouterr().err == (
        "This tool measures with confluent-kafka, which is not installed:"
        " pip install 'headrace[clients]'\n"
    )


@pytest.mark.parametrize("option", ["--record-size", "--record-key-size", "--num-headers"])
def test_a_size_below_zero_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    needed = ("--topic", "t", "--num-records", "1", "--producer-acks", "1", "--record-size", "1")
    assert main(["e2e-latency", *needed, option, "-5"]) == 2
    assert f"Value for {option} must not be negative." in capsys.readouterr().err


def test_what_the_library_refuses_is_its_sentence(
    server: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    huge = ("--num-records", "2", "--throughput", "-1", "--record-size", "2000000")
    assert main(["producer-perf-test", *server, *huge]) == 1
    expected = "Unable to produce message: Broker: Message size too large.\n"
    assert capsys.readouterr().err == expected
