"""Markers: decided once, written everywhere, however long that takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.coordination.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from headrace.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.replication.partition import Leadership
from headrace.transactions.transaction import ProducerIdentity, TopicPartition
from tests.support import transaction_requests as requests
from tests.support.transaction_talk import play
from tests.unit.broker.harness import Broker

OTHER_NODE = 9


def tell(broker: Broker, script: str) -> list[str]:
    """The answers to the commands of a script."""
    lines = play(script, broker.ask, now_ms=broker.clock.wall_ms).splitlines()
    return [line.removeprefix("    -> ") for line in lines if line.startswith("    ")]


def state_of(broker: Broker, id_: str) -> str:
    (state,) = broker.ask(requests.describe(id_)).transaction_states
    text: str = state.transaction_state
    return text


def end(broker: Broker, id_: str, *, committed: bool = True) -> Any:
    """Ask for the end of the transaction that is open."""
    (state,) = broker.ask(requests.describe(id_)).transaction_states
    identity = broker.transactions.transactions.coordinators.shard_for(id_).coordinator.get(id_)
    assert identity is not None
    assert state.error_code == 0
    return broker.ask(requests.end(id_, identity.identity, committed))


def set_leader(broker: Broker, topic: str, index: int, leader: int) -> None:
    partition = broker.partition(topic, index)
    old = partition.leadership
    partition.lead_or_follow(
        Leadership(leader, old.leader_epoch + 1, old.replicas, old.isr, old.partition_epoch + 1)
    )


@pytest.fixture
def opened(broker: Broker) -> Broker:
    """A transaction of `t` in a-0 and a-1."""
    tell(broker, "topic a 2\ninit t\nproduce t P1/0 a-0 0 one\nproduce t P1/0 a-1 0 two")
    return broker


def test_the_end_is_complete_before_its_answer_arrives(opened: Broker) -> None:
    assert end(opened, "t").error_code == 0
    assert state_of(opened, "t") == "CompleteCommit"
    assert opened.partition("a", 0).log.log_end_offset == 2
    assert opened.partition("a", 1).log.log_end_offset == 2


def test_a_partition_without_a_leader_is_waited_for(opened: Broker) -> None:
    set_leader(opened, "a", 1, OTHER_NODE)
    assert end(opened, "t").error_code == 0
    opened.advance(5_000)
    assert state_of(opened, "t") == "PrepareCommit"
    # The one that could take its marker has exactly one.
    assert opened.partition("a", 0).log.log_end_offset == 2
    again = requests.init("t", 1_000, ProducerIdentity(-1, -1))
    assert opened.ask(again).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    set_leader(opened, "a", 1, 1)
    opened.advance(1_100)
    assert state_of(opened, "t") == "CompleteCommit"
    assert opened.partition("a", 0).log.log_end_offset == 2
    assert opened.partition("a", 1).log.log_end_offset == 2


def test_retries_become_rarer_but_never_stop(opened: Broker) -> None:
    set_leader(opened, "a", 1, OTHER_NODE)
    end(opened, "t")
    opened.advance(60_000)
    before = opened.scheduler.pending_timers
    set_leader(opened, "a", 1, 1)
    opened.advance(1_000)
    assert state_of(opened, "t") == "CompleteCommit"
    assert opened.scheduler.pending_timers < before


def test_a_topic_that_was_deleted_needs_no_marker(opened: Broker) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="a")], timeout_ms=1_000)
    assert opened.ask(request).responses[0].error_code == 0
    assert end(opened, "t").error_code == 0
    assert state_of(opened, "t") == "CompleteCommit"


def test_another_coordinator_finishes_what_was_decided(opened: Broker) -> None:
    set_leader(opened, "a", 1, OTHER_NODE)
    end(opened, "t")
    assert state_of(opened, "t") == "PrepareCommit"
    coordinators = opened.transactions.transactions.coordinators
    index = coordinators.partition_of("t")
    assert index is not None
    partition = opened.partition(TRANSACTIONS_TOPIC, index)
    coordinators.resign(index)
    set_leader(opened, "a", 1, 1)
    opened.advance(2_000)
    # Nobody coordinates, so nothing more is written.
    assert opened.partition("a", 1).log.log_end_offset == 1
    coordinators.lead(partition)
    opened.scheduler.settle()
    assert state_of(opened, "t") == "CompleteCommit"
    assert opened.partition("a", 1).log.log_end_offset == 2


def test_offsets_count_only_when_their_coordinator_has_the_marker(broker: Broker) -> None:
    tell(broker, "topic a 1\ninit t\noffsets t g P1/0 a-0=5")
    groups = broker.groups.coordinators
    index = groups.partition_of("g")
    assert index is not None
    partition = broker.partition(OFFSETS_TOPIC, index)
    groups.resign(index)
    assert end(broker, "t").error_code == 0
    broker.advance(500)
    assert state_of(broker, "t") == "PrepareCommit"
    groups.lead(partition)
    broker.scheduler.settle()
    broker.advance(1_100)
    assert state_of(broker, "t") == "CompleteCommit"
    assert tell(broker, "stable g a-0") == ["5"]


@pytest.mark.parametrize("committed", [True, False])
def test_a_loaded_group_coordinator_knows_how_transactions_ended(
    broker: Broker, committed: bool
) -> None:
    tell(broker, "topic a 1\ninit t\noffsets t g P1/0 a-0=5")
    end(broker, "t", committed=committed)
    groups = broker.groups.coordinators
    index = groups.partition_of("g")
    assert index is not None
    groups.resign(index)
    groups.lead(broker.partition(OFFSETS_TOPIC, index))
    broker.scheduler.settle()
    assert tell(broker, "stable g a-0") == ["5" if committed else "-1"]


def test_a_loaded_group_coordinator_still_waits_for_an_open_transaction(broker: Broker) -> None:
    tell(broker, "topic a 1\ninit t\noffsets t g P1/0 a-0=5")
    groups = broker.groups.coordinators
    index = groups.partition_of("g")
    assert index is not None
    groups.resign(index)
    groups.lead(broker.partition(OFFSETS_TOPIC, index))
    broker.scheduler.settle()
    assert tell(broker, "stable g a-0") == ["UNSTABLE_OFFSET_COMMIT"]
    end(broker, "t")
    assert tell(broker, "stable g a-0") == ["5"]


def test_a_topic_that_flushes_every_record_has_the_marker_on_disk_first(broker: Broker) -> None:
    broker.create_topic("strict", 1, flush_messages="1")
    tell(broker, "init t\nproduce t P1/0 strict-0 0 one")
    broker.scheduler.hold = True
    end(broker, "t")
    assert state_of(broker, "t") == "PrepareCommit"
    broker.scheduler.release()
    assert state_of(broker, "t") == "CompleteCommit"
    assert broker.partition("strict").log.recovery_point == 2


def test_a_partition_that_knows_a_newer_epoch_does_not_hold_up_the_rest(opened: Broker) -> None:
    # As if an administrator had ended it with a far later epoch.
    identity = opened.transactions.transactions.coordinators.shard_for("t").coordinator.get("t")
    newer = identity.identity._replace(producer_epoch=30)
    at = TopicPartition("a", 0)
    opened.ask(requests.markers(False, newer, at))
    assert end(opened, "t").error_code == 0
    assert state_of(opened, "t") == "CompleteCommit"
    assert opened.partition("a", 1).last_stable_offset == 2


def test_abandoned_transactions_end_by_the_clock(tmp_path: Path) -> None:
    interval = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    broker = Broker(tmp_path, overrides={interval: "100"})
    tell(broker, "topic a 1\ninit t timeout=1000\nproduce t P1/0 a-0 0 one")
    broker.advance(900)
    assert state_of(broker, "t") == "Ongoing"
    broker.advance(300)
    assert state_of(broker, "t") == "CompleteAbort"
    assert broker.partition("a").last_stable_offset == 2
    broker.close()


def test_ids_nobody_uses_are_forgotten_by_the_clock(tmp_path: Path) -> None:
    broker = Broker(
        tmp_path,
        overrides={
            "transactional.id.expiration.ms": "1000",
            "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
        },
    )
    tell(broker, "init t")
    broker.advance(900)
    assert state_of(broker, "t") == "Empty"
    broker.advance(400)
    assert tell(broker, "describe t") == ["TRANSACTIONAL_ID_NOT_FOUND"]
    # Also for a coordinator that reads the log.
    coordinators = broker.transactions.transactions.coordinators
    index = coordinators.partition_of("t")
    assert index is not None
    coordinators.resign(index)
    coordinators.lead(broker.partition(TRANSACTIONS_TOPIC, index))
    broker.scheduler.settle()
    assert tell(broker, "describe t") == ["TRANSACTIONAL_ID_NOT_FOUND"]
    broker.close()


def test_a_coordinator_that_loads_or_is_elsewhere_says_so(broker: Broker) -> None:
    tell(broker, "init t")
    coordinators = broker.transactions.transactions.coordinators
    index = coordinators.partition_of("t")
    assert index is not None
    partition = broker.partition(TRANSACTIONS_TOPIC, index)
    coordinators.resign(index)
    request = requests.init("t", 1_000, ProducerIdentity(-1, -1))
    assert broker.ask(request).error_code == ErrorCode.NOT_COORDINATOR
    coordinators.lead(partition)
    with pytest.raises(KafkaError) as loading:
        coordinators.shard_for("t")
    assert loading.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    broker.scheduler.settle()
    assert broker.ask(request).error_code == ErrorCode.NONE
