"""The console producer and consumer against a scripted broker."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator

import pytest

from headrace.cli.main import main
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from headrace.protocol.messages.init_producer_id import InitProducerIdResponse
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from headrace.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.records.batch import iter_headers, read_header, stamp
from tests.unit.client.scripted_broker import Answer, Script, ScriptedBroker


class Store:
    """A broker's log in memory, one bytes object per partition."""

    def __init__(self) -> None:
        self.logs: dict[int, bytearray] = {}
        self.ends: dict[int, int] = {}

    def produce(self, request: ProduceRequest, _version: int) -> Answer:
        rows = []
        for data in request.topic_data[0].partition_data:
            batch = bytearray(data.records or b"")
            end = self.ends.get(data.index, 0)
            stamp(batch, 0, end, 0)
            self.ends[data.index] = end + read_header(batch).record_count
            self.logs.setdefault(data.index, bytearray()).extend(batch)
            rows.append(PartitionProduceResponse(index=data.index, base_offset=end))
        topic = TopicProduceResponse(name="t", partition_responses=rows)
        return ProduceResponse(responses=[topic])

    def fetch(self, request: FetchRequest, _version: int) -> Answer:
        rows = []
        for partition in request.topics[0].partitions:
            log = bytes(self.logs.get(partition.partition, b""))
            kept = b"".join(
                log[position : position + header.size]
                for position, header in iter_headers(log)
                if header.last_offset >= partition.fetch_offset
            )
            rows.append(PartitionData(partition_index=partition.partition, records=kept))
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=rows)])

    def offsets(self, request: ListOffsetsRequest, _version: int) -> Answer:
        rows = [
            ListOffsetsPartitionResponse(
                partition_index=p.partition_index,
                offset=0 if p.timestamp == -2 else self.ends.get(p.partition_index, 0),
            )
            for p in request.topics[0].partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=rows)])


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    store = Store()
    scripts: dict[ApiKey, Script] = {
        ApiKey.PRODUCE: store.produce,
        ApiKey.FETCH: store.fetch,
        ApiKey.LIST_OFFSETS: store.offsets,
        ApiKey.INIT_PRODUCER_ID: lambda _r, _v: InitProducerIdResponse(producer_id=1),
    }
    with ScriptedBroker(scripts) as scripted:
        scripted.topics = {"t": 2}
        yield scripted


def produce(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker, text: bytes, *args: str
) -> int:
    reading, writing = os.pipe()
    os.write(writing, text)
    os.close(writing)
    with open(reading, encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        return main(
            ["console-producer", "--bootstrap-server", broker.address, "--topic", "t", *args]
        )


def consume(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker, *args: str
) -> tuple[int, list[str]]:
    printed = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(printed, encoding="utf-8"))
    code = main(["console-consumer", "--bootstrap-server", broker.address, "--topic", "t", *args])
    return code, printed.getvalue().decode().splitlines()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_go_in_and_come_out(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker, codec: str
) -> None:
    text = b"k1\tone\nk2\ttwo\nk1\tthree\n"
    args = ["--reader-property", "parse.key=true", "--compression-codec", codec]
    assert produce(monkeypatch, broker, text, *args) == 0
    shown = ["--formatter-property", "print.key=true"]
    code, lines = consume(monkeypatch, broker, "--from-beginning", "--max-messages", "3", *shown)
    assert code == 0
    assert sorted(lines) == ["k1\tone", "k1\tthree", "k2\ttwo"]
    assert lines.index("k1\tone") < lines.index("k1\tthree")


def test_the_consumer_ends_by_itself_and_counts(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert produce(monkeypatch, broker, b"a\nb\n") == 0
    code, lines = consume(monkeypatch, broker, "--from-beginning", "--timeout-ms", "20")
    assert (code, sorted(lines)) == (0, ["a", "b"])
    assert capsys.readouterr().err.endswith("Processed a total of 2 messages\n")
    code, lines = consume(monkeypatch, broker, "--timeout-ms", "20")
    assert (code, lines) == (0, [])


def test_one_partition_from_an_offset(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker
) -> None:
    broker.topics = {"t": 1}
    assert produce(monkeypatch, broker, b"a\nb\nc\nd\n") == 0
    args = ["--partition", "0", "--offset", "2", "--timeout-ms", "20"]
    assert consume(monkeypatch, broker, *args) == (0, ["c", "d"])
    assert consume(monkeypatch, broker, "--partition", "9", "--timeout-ms", "20")[0] == 1


def test_a_bad_line_stops_the_producer_but_not_what_came_before(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--reader-property", "parse.key=true"]
    assert produce(monkeypatch, broker, b"k\tgood\nbad\n", *args) == 1
    assert "No key separator found on line number 2: 'bad'" in capsys.readouterr().err
    _, lines = consume(monkeypatch, broker, "--from-beginning", "--timeout-ms", "20")
    assert lines == ["good"]


@pytest.mark.parametrize(
    "args",
    [
        ["--offset", "3"],
        ["--partition", "0", "--offset", "soon"],
        ["--partition", "0", "--offset", "1", "--from-beginning"],
        ["--include", "t.*"],
    ],
)
def test_consumer_options_that_make_no_sense(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker, args: list[str]
) -> None:
    assert consume(monkeypatch, broker, *args)[0] == 2


def test_a_reader_may_begin_with_what_is_so_old(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker
) -> None:
    assert produce(monkeypatch, broker, b"1\n") == 0
    reset = ("--command-property", "auto.offset.reset=by_duration:PT1H")
    assert consume(monkeypatch, broker, *reset, "--timeout-ms", "20")[0] == 0
    (asked,) = [request for request in broker.asked if isinstance(request, ListOffsetsRequest)]
    assert all(row.timestamp > 0 for row in asked.topics[0].partitions)
