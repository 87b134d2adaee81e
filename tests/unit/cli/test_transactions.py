"""`headrace transactions` against a scripted broker."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from headrace.base.errors import ErrorCode
from headrace.cli.main import main
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages import describe_producers as producers
from headrace.protocol.messages import describe_transactions as transactions
from headrace.protocol.messages import list_transactions as listing
from headrace.protocol.messages import write_txn_markers as markers
from headrace.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from headrace.protocol.messages.metadata import MetadataResponseTopic
from tests.unit.client.scripted_broker import ScriptedBroker
from tests.unit.client.scripted_groups import coordinate

HOUR_MS = 3_600_000


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as scripted:
        scripted.topics = {"t": 1}
        coordinate(scripted, {})
        scripted.scripts[ApiKey.DESCRIBE_PRODUCERS] = lambda _r, _v: open_producers()
        yield scripted


def open_producers() -> producers.DescribeProducersResponse:
    """Producers 7 and 8 have transactions open since 1970; 9 has none."""
    rows = [
        producers.ProducerState(
            producer_id=number,
            producer_epoch=2,
            last_sequence=4,
            last_timestamp=HOUR_MS,
            coordinator_epoch=-1,
            current_txn_start_offset=start,
        )
        for number, start in ((7, 50), (8, 60), (9, -1))
    ]
    partition = producers.PartitionResponse(partition_index=0, active_producers=rows)
    topic = producers.TopicResponse(name="t", partitions=[partition])
    return producers.DescribeProducersResponse(topics=[topic])


def run(broker: ScriptedBroker, *args: str) -> int:
    return main(["transactions", "--bootstrap-server", broker.address, *args])


def knows(broker: ScriptedBroker, *, partitions: list[int]) -> None:
    """The coordinator knows producer 7 as `id`, with these partitions of `t`."""
    listed = listing.TransactionState(
        transactional_id="id", producer_id=7, transaction_state="Ongoing"
    )
    state = transactions.TransactionState(
        transactional_id="id",
        transaction_state="Ongoing",
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=-1,
        producer_id=7,
        producer_epoch=2,
        topics=[transactions.TopicData(topic="t", partitions=partitions)],
    )
    broker.scripts[ApiKey.LIST_TRANSACTIONS] = lambda _r, _v: listing.ListTransactionsResponse(
        transaction_states=[listed]
    )
    broker.scripts[ApiKey.DESCRIBE_TRANSACTIONS] = lambda _r, _v: (
        transactions.DescribeTransactionsResponse(transaction_states=[state])
    )


def test_list_and_describe_print_kafkas_tables(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    knows(broker, partitions=[1, 0])
    assert run(broker, "list") == 0
    assert capsys.readouterr().out.splitlines()[1] == (
        "id             \t1          \t7         \tOngoing         \t"
    )
    assert run(broker, "describe", "--transactional-id", "id") == 0
    cells = [cell.strip() for cell in capsys.readouterr().out.splitlines()[1].split("\t")]
    assert cells[:8] == ["1", "id", "7", "2", "Ongoing", "60000", "None", "None"]
    assert cells[8] in ("t-0,t-1", "t-1,t-0")


def test_an_unknown_transactional_id_is_an_error(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    row = transactions.TransactionState(
        transactional_id="nope", error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    )
    broker.scripts[ApiKey.DESCRIBE_TRANSACTIONS] = lambda _r, _v: (
        transactions.DescribeTransactionsResponse(transaction_states=[row])
    )
    assert run(broker, "describe", "--transactional-id", "nope") == 1
    assert "transactional-id `nope`" in capsys.readouterr().err


@pytest.mark.parametrize(("partitions", "hanging"), [([0], [8]), ([], [7, 8])])
def test_a_transaction_hangs_when_its_coordinator_does_not_know_the_partition(
    broker: ScriptedBroker,
    capsys: pytest.CaptureFixture[str],
    partitions: list[int],
    hanging: list[int],
) -> None:
    knows(broker, partitions=partitions)
    assert run(broker, "-o", "json", "find-hanging", "--topic", "t") == 0
    rows = json.loads(capsys.readouterr().out)["hangingTransactions"]
    assert [row["producerId"] for row in rows] == hanging
    assert all(row["durationMinutes"] > 60 for row in rows)


def test_the_search_needs_a_scope(broker: ScriptedBroker) -> None:
    assert run(broker, "find-hanging") == 1
    assert run(broker, "find-hanging", "--broker-id", "1", "--partition", "0") == 1


def test_abort_writes_a_marker_for_the_producer_at_the_offset(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    done = markers.WritableTxnMarkerResult(
        producer_id=8,
        topics=[
            markers.WritableTxnMarkerTopicResult(
                name="t", partitions=[markers.WritableTxnMarkerPartitionResult(partition_index=0)]
            )
        ],
    )
    broker.scripts[ApiKey.WRITE_TXN_MARKERS] = lambda _r, _v: markers.WriteTxnMarkersResponse(
        markers=[done]
    )
    at = ("abort", "--topic", "t", "--partition", "0")
    assert run(broker, *at, "--start-offset", "60") == 0
    request = broker.asked[-1]
    assert isinstance(request, markers.WriteTxnMarkersRequest)
    (marker,) = request.markers
    assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (8, 2, 0)
    assert not marker.transaction_result
    assert run(broker, *at, "--start-offset", "61") == 1
    assert "starting at offset 61 on partition t-0" in capsys.readouterr().err
    assert run(broker, *at) == 1
    assert run(broker, *at, "--producer-id", "8") == 1


def test_json_has_numbers_and_null_under_names_like_those_of_other_tools(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    knows(broker, partitions=[0])
    for place in (("-o", "json", "list"), ("list", "-o", "json")):
        assert run(broker, *place) == 0
        (listed,) = json.loads(capsys.readouterr().out)["transactions"]
        assert listed == {
            "transactionalId": "id",
            "coordinator": 1,
            "producerId": 7,
            "transactionState": "Ongoing",
        }
    assert run(broker, "describe", "--transactional-id", "id", "-o", "json") == 0
    (described,) = json.loads(capsys.readouterr().out)["transactions"]
    assert described["currentTransactionStartTimeMs"] is None
    assert described["topicPartitions"] == [{"topic": "t", "partition": 0}]
    partition = ("--topic", "t", "--partition", "0")
    assert run(broker, "describe-producers", *partition, "-o", "json") == 0
    rows = json.loads(capsys.readouterr().out)["producers"]
    assert [row["currentTransactionStartOffset"] for row in rows] == [50, 60, None]


@pytest.mark.parametrize("command", ["describe-producers", "find-hanging", "abort"])
def test_a_partition_that_does_not_exist_is_told_at_once(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    start = ("--start-offset", "1") if command == "abort" else ()
    assert run(broker, command, "--topic", "t", "--partition", "5", *start) == 1
    assert capsys.readouterr().err == "Topic t has no partition 5.\n"
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    missing = MetadataResponseTopic(name="nope", error_code=code)
    metadata = broker.metadata()
    metadata.topics = [missing]
    broker.scripts[ApiKey.METADATA] = lambda _r, _v: metadata
    assert run(broker, command, "--topic", "nope", "--partition", "0", *start) == 1
    assert capsys.readouterr().err == "There is no topic nope.\n"


@pytest.mark.parametrize("flag", ["--transactionalId", "--transactional-id"])
def test_a_transaction_is_ended_under_kafkas_flag_and_under_the_usual_one(
    broker: ScriptedBroker, flag: str
) -> None:
    broker.scripts[ApiKey.INIT_PRODUCER_ID] = lambda _r, _v: InitProducerIdResponse()
    assert run(broker, "forceTerminateTransaction", flag, "id") == 0
    request = broker.asked[-1]
    assert isinstance(request, InitProducerIdRequest)
    assert request.transactional_id == "id"
