"""Which shard answers for a key, while leadership comes and goes."""

from __future__ import annotations

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.coordination.coordinators import Coordinators
from tests.unit.broker.coordination.conftest import TOPIC
from tests.unit.broker.coordination.toy import ToyCodec, ToyCoordinator
from tests.unit.broker.harness import Broker


@pytest.fixture
def coordinators(broker: Broker) -> Coordinators:
    broker.create_topic(TOPIC)
    coordinators = Coordinators(
        TOPIC,
        lambda _: ToyCoordinator(),
        ToyCodec(),
        lambda: broker.plane.image,
        broker.scheduler,
        broker.clock,
    )
    coordinators.lead(broker.partition(TOPIC))
    broker.scheduler.settle()
    return coordinators


def test_a_key_finds_its_shard_again(coordinators: Coordinators) -> None:
    assert coordinators.shard_for("orders") is coordinators.shard_for("orders")


def test_a_shard_that_was_found_before_is_not_found_after_it_resigned(
    coordinators: Coordinators,
) -> None:
    coordinators.shard_for("orders")
    coordinators.resign(0)
    with pytest.raises(KafkaError) as raised:
        coordinators.shard_for("orders")
    assert raised.value.code is ErrorCode.NOT_COORDINATOR


def test_whoever_leads_again_is_asked_once_its_log_is_read(
    broker: Broker, coordinators: Coordinators
) -> None:
    before = coordinators.shard_for("orders")
    coordinators.resign(0)
    coordinators.lead(broker.partition(TOPIC))
    with pytest.raises(KafkaError) as raised:
        coordinators.shard_for("orders")
    assert raised.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    broker.scheduler.settle()
    assert coordinators.shard_for("orders") is not before


def test_neither_long_keys_nor_too_many_are_kept_in_memory(coordinators: Coordinators) -> None:
    for number in range(5000):
        coordinators.shard_for(f"group-{number}")
    coordinators.shard_for("x" * 30_000)
    kept = coordinators._by_key
    assert len(kept) <= 4096
    assert max(map(len, kept)) < 256
