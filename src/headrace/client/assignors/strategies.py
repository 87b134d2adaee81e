"""The assignors by name: what groups vote on, and what `partition.assignment.strategy` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.client.assignors.cooperative import assign_cooperatively
from headrace.client.assignors.range import assign_ranges
from headrace.client.assignors.round_robin import assign_round_robin
from headrace.client.assignors.sticky import assign_sticky
from headrace.client.assignors.subscriber import Shares, Subscriber


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way to share out partitions; the members of a group agree on one that all know."""

    name: str
    java_class: str
    assign: Callable[[list[Subscriber], Mapping[str, int]], Shares]
    #: Members keep their partitions through a rebalance (KIP-429) if all theirs allow it.
    is_cooperative: bool = False


_PACKAGE = "org.apache.kafka.clients.consumer."
STRATEGIES = (
    Strategy("range", f"{_PACKAGE}RangeAssignor", assign_ranges),
    Strategy("roundrobin", f"{_PACKAGE}RoundRobinAssignor", assign_round_robin),
    Strategy("sticky", f"{_PACKAGE}StickyAssignor", assign_sticky),
    Strategy(
        "cooperative-sticky",
        f"{_PACKAGE}CooperativeStickyAssignor",
        assign_cooperatively,
        is_cooperative=True,
    ),
)
#: As in Kafka's consumer: eager, and one restart away from cooperative.
DEFAULT_STRATEGIES = (STRATEGIES[0], STRATEGIES[3])


def find_strategies(text: str) -> tuple[Strategy, ...]:
    """The strategies of a setting: Java's class names or the plain ones, with commas between."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ValueError("partition.assignment.strategy names no assignor.")
    return tuple(_find(name) for name in dict.fromkeys(names))


def _find(name: str) -> Strategy:
    for strategy in STRATEGIES:
        if name in (strategy.name, strategy.java_class, strategy.java_class.rpartition(".")[2]):
            return strategy
    known = ", ".join(strategy.name for strategy in STRATEGIES)
    raise ValueError(f"There is no assignor {name}; known are {known}.")
