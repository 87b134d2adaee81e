"""The coordinators of groups and transactions, on the metrics page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from headrace.broker.coordination.coordinators import Coordinators
from headrace.broker.coordination.shard import ShardState
from headrace.groups.activity import Activity
from headrace.groups.group import GroupType
from headrace.server.prometheus import COUNTER, GAUGE, Family, single
from headrace.transactions.states import TransactionState

_MANAGER = "kafka.coordinator.group:type=GroupMetadataManager,name="
_GROUPS = "kafka.server:type=group-coordinator-metrics"
_TRANSACTIONS = "kafka.server:type=transaction-coordinator-metrics"
_CLASSIC_STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")
_CONSUMER_STATES = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")
#: What Kafka calls each count.
_COUNTS = {
    "offset-commit-count": "offset_commits",
    "offset-deletion-count": "offset_deletions",
    "offset-expiration-count": "offset_expirations",
    "group-completed-rebalance-count": "completed_rebalances",
    "consumer-group-rebalance-count": "consumer_rebalances",
}


def group_families(coordinators: Coordinators) -> Iterator[Family]:
    """Groups by protocol and state, their offsets, and what was done for them."""
    groups: Counter[tuple[GroupType, str]] = Counter()
    offsets = 0
    done = Activity()
    for shard in coordinators:
        coordinator = shard.coordinator
        groups.update((group.type, group.state_name) for group in coordinator.groups)
        offsets += coordinator.offsets.store.count
        done.add(coordinator.groups.activity)
    classic, consumer = GroupType.CLASSIC, GroupType.CONSUMER
    yield _manager("NumGroups", _of(groups, classic))
    for state in _CLASSIC_STATES:
        yield _manager(f"NumGroups{state}", groups[classic, state])
    yield _manager("NumOffsets", offsets)
    yield Family(
        "kafka_server_group_coordinator_metrics_group_count",
        GAUGE,
        f"{_GROUPS},protocol=* group-count",
        [("", {"protocol": kind.value}, _of(groups, kind)) for kind in GroupType],
    )
    yield Family(
        "kafka_server_group_coordinator_metrics_consumer_group_count",
        GAUGE,
        f"{_GROUPS},state=* consumer-group-count",
        [("", {"state": state}, groups[consumer, state]) for state in _CONSUMER_STATES],
    )
    for name, field in _COUNTS.items():
        yield single(
            f"kafka_server_group_coordinator_metrics_{name.replace('-', '_')}",
            COUNTER,
            f"{_GROUPS} {name}",
            getattr(done, field),
        )
    yield from _runtime("group", _GROUPS, coordinators)


def transaction_families(coordinators: Coordinators) -> Iterator[Family]:
    """Transactional ids by state; Kafka tells only how long loading took."""
    states = Counter(
        transaction.state for shard in coordinators for transaction in shard.coordinator
    )
    yield Family(
        "headrace_transactions",
        GAUGE,
        "Transactional ids by the state of their transaction.",
        [("", {"state": state.label}, states[state]) for state in TransactionState],
    )
    yield from _runtime("transaction", _TRANSACTIONS, coordinators)


def _runtime(kind: str, bean: str, coordinators: Coordinators) -> Iterator[Family]:
    prefix = f"kafka_server_{kind}_coordinator_metrics_"
    shards = list(coordinators)
    times = [shard.load_time_ms for shard in shards if shard.load_time_ms is not None]
    average = sum(times) / len(times) if times else 0.0
    yield single(
        f"{prefix}partition_load_time_max", GAUGE, f"{bean} partition-load-time-max", _max(times)
    )
    yield single(
        f"{prefix}partition_load_time_avg", GAUGE, f"{bean} partition-load-time-avg", average
    )
    states = Counter(shard.state for shard in shards)
    # A log that cannot be read closes its shard, which nobody takes away then.
    yield Family(
        f"{prefix}num_partitions",
        GAUGE,
        f"{bean},state=* num-partitions",
        [
            ("", {"state": "loading"}, states[ShardState.LOADING]),
            ("", {"state": "active"}, states[ShardState.ACTIVE]),
            ("", {"state": "failed"}, states[ShardState.CLOSED]),
        ],
    )
    waiting = sum(shard.waiting_count for shard in shards)
    yield single(f"{prefix}event_queue_size", GAUGE, f"{bean} event-queue-size", waiting)


def _max(times: list[float]) -> float:
    return max(times, default=0.0)


def _of(groups: Counter[tuple[GroupType, str]], kind: GroupType) -> int:
    return sum(count for (type_, _), count in groups.items() if type_ is kind)


def _manager(name: str, value: int) -> Family:
    return single(
        f"kafka_coordinator_group_groupmetadatamanager_{name.lower()}",
        GAUGE,
        _MANAGER + name,
        value,
    )
