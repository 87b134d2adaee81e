"""A shard over a real partition."""

from __future__ import annotations

import pytest

from headrace.broker.coordination.loading import Loader
from headrace.broker.coordination.shard import Shard
from tests.unit.broker.coordination.toy import ToyCodec, ToyCoordinator
from tests.unit.broker.harness import Broker

TOPIC = "state"


@pytest.fixture
def shard(broker: Broker) -> Shard:
    broker.create_topic(TOPIC)
    return load(broker)


def load(broker: Broker) -> Shard:
    """A new coordinator that has read the log."""
    partition = broker.partition(TOPIC)
    shard = Shard(ToyCoordinator(), ToyCodec(), partition, broker.scheduler, broker.clock)
    Loader(shard, broker.scheduler.call_soon).start()
    broker.scheduler.settle()
    return shard
