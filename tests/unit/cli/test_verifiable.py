"""The verifiable clients against a scripted broker: their events, one JSON object per line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.cli.main import main
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.records.batch import read_header
from headrace.records.codecs import Codec
from tests.unit.cli.test_consoles import broker
from tests.unit.client.scripted_broker import ScriptedBroker
from tests.unit.client.scripted_groups import coordinate_one_member

__all__ = ["broker"]


def events(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(list(row)[:2] == ["timestamp", "name"] for row in rows)
    return rows


def produce(broker: ScriptedBroker, *args: str) -> int:
    options = ["--bootstrap-server", broker.address, "--topic", "t", *args]
    return main(["verifiable-producer", *options])


def consume(broker: ScriptedBroker, *args: str) -> int:
    options = ["--bootstrap-server", broker.address, "--topic", "t", "--group-id", "g", *args]
    return main(["verifiable-consumer", *options])


def test_every_record_is_told_with_its_offset(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert produce(broker, "--max-messages", "5", "--value-prefix", "3") == 0
    rows = events(capsys)
    names = [row["name"] for row in rows]
    sent = ["producer_send_success"] * 5
    assert names == ["startup_complete", *sent, "shutdown_complete", "tool_data"]
    assert [row["value"] for row in rows[1:6]] == [f"3.{number}" for number in range(5)]
    places = {(row["partition"], row["offset"]) for row in rows[1:6]}
    assert len(places) == 5
    assert (rows[-1]["sent"], rows[-1]["acked"]) == (5, 5)


def test_a_record_that_is_refused_is_told_too(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(request: Any, _version: int) -> ProduceResponse:
        code = ErrorCode.INVALID_RECORD
        rows = [
            PartitionProduceResponse(index=data.index, error_code=code, error_message="no")
            for data in request.topic_data[0].partition_data
        ]
        return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=rows)])

    broker.scripts[ApiKey.PRODUCE] = refuse
    assert produce(broker, "--max-messages", "1") == 0
    _, failed, _, summary = events(capsys)
    assert (failed["name"], failed["message"]) == ("producer_send_error", "no")
    assert failed["exception"] == "class org.apache.kafka.common.errors.InvalidRecordException"
    assert summary["acked"] == 0


def test_a_consumer_tells_what_it_is_given_reads_and_commits(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    offsets = coordinate_one_member(broker)
    assert produce(broker, "--max-messages", "6", "--repeating-keys", "3") == 0
    capsys.readouterr()
    assert consume(broker, "--max-messages", "4", "--verbose") == 0
    rows = events(capsys)
    assert [row["name"] for row in rows[:2]] == ["startup_complete", "partitions_assigned"]
    assert rows[1]["partitions"] == [
        {"topic": "t", "partition": 0},
        {"topic": "t", "partition": 1},
    ]
    assert sum(row["name"] == "record_data" for row in rows) == 4
    consumed = [row for row in rows if row["name"] == "records_consumed"]
    assert sum(part["count"] for row in consumed for part in row["partitions"]) == 4
    assert all(row["success"] for row in rows if row["name"] == "offsets_committed")
    assert [row["name"] for row in rows[-2:]] == ["partitions_revoked", "shutdown_complete"]
    assert sum(offsets.values()) == 4


def test_the_producers_file_reaches_the_producer(broker: ScriptedBroker, tmp_path: Path) -> None:
    file = tmp_path / "producer.properties"
    file.write_text("acks=1\ncompression.type=gzip\n")
    assert produce(broker, "--max-messages", "1", "--producer.config", str(file)) == 0
    (request,) = [each for each in broker.asked if isinstance(each, ProduceRequest)]
    (data,) = request.topic_data[0].partition_data
    assert data.records is not None
    assert (request.acks, read_header(data.records).codec) == (1, Codec.GZIP)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("acks=2", "Invalid value 2 for acks"),
        ("linger.ms=soon", "Invalid value soon for configuration linger.ms: it is a whole number"),
        ("batch.size=-1", "Invalid value -1 for configuration batch.size: it is a whole number"),
    ],
)
def test_a_producers_setting_that_cannot_be_meant_is_refused(
    broker: ScriptedBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    setting: str,
    told: str,
) -> None:
    file = tmp_path / "producer.properties"
    file.write_text(setting)
    assert produce(broker, "--max-messages", "1", "--command-config", str(file)) == 2
    assert told in capsys.readouterr().err
    assert not any(isinstance(request, ProduceRequest) for request in broker.asked)


@pytest.mark.parametrize("setting", ["isolation.level=committed", "fetch.max.bytes=1k"])
def test_a_consumers_setting_that_cannot_be_meant_is_refused(
    broker: ScriptedBroker, tmp_path: Path, setting: str
) -> None:
    file = tmp_path / "consumer.properties"
    file.write_text(setting)
    assert consume(broker, "--command-config", str(file)) == 1
    assert consume(broker, "--reset-policy", "soon") == 1
    assert broker.asked == []


def test_only_who_commits_from_time_to_time_commits_where_it_began(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    offsets = coordinate_one_member(broker)
    assert produce(broker, "--max-messages", "1") == 0
    assert consume(broker, "--max-messages", "1") == 0
    assert sorted(offsets.values()) == [1]
    offsets.clear()
    assert consume(broker, "--max-messages", "1", "--enable-autocommit") == 0
    assert sorted(offsets.values()) == [0, 1]
