"""The states of a classic group, and which may follow which.

Empty ----------------> PreparingRebalance <------- Stable
  ^                       |        ^                  ^
  |  nobody came back     |        | somebody joins   |
  +-----------------------+        | or leaves        |
                          v        |                  |
                       CompletingRebalance -----------+
                                    the leader's assignment is stored
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """With the names that Kafka shows."""

    #: No members; maybe committed offsets.
    EMPTY = "Empty"
    #: Members are asked to join the next generation, and some have.
    PREPARING_REBALANCE = "PreparingRebalance"
    #: All have joined; the leader's assignment is awaited.
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    #: The group is deleted.
    DEAD = "Dead"


MAY_FOLLOW: dict[State, frozenset[State]] = {
    State.EMPTY: frozenset({State.PREPARING_REBALANCE, State.DEAD}),
    State.PREPARING_REBALANCE: frozenset({State.COMPLETING_REBALANCE, State.EMPTY, State.DEAD}),
    State.COMPLETING_REBALANCE: frozenset({State.STABLE, State.PREPARING_REBALANCE, State.DEAD}),
    State.STABLE: frozenset({State.PREPARING_REBALANCE, State.DEAD}),
    State.DEAD: frozenset({State.DEAD}),
}

#: The states in which members are members and nobody waits for joins.
HAS_GENERATION = frozenset({State.COMPLETING_REBALANCE, State.STABLE})
