"""Lookups by time, which may take longer than anybody else should wait.

Headers are read here, some in each turn of the loop, and so are small batches. Others are opened in
a process beside the node: few bytes may hold millions of records.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.coordination.turns import Turns
from headrace.broker.parked import Parked
from headrace.broker.partitions import Partitions
from headrace.log.time_lookup import SMALL_BYTES, Candidate, TimestampOffset, open_candidate
from headrace.log.time_search import Search
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
)
from headrace.replication.partition import Partition

logger = logging.getLogger(__name__)

#: Steps of searches taken in one turn of the loop; each may take two milliseconds.
_STEPS_AT_ONCE = 4

#: What was found in a batch, or why that cannot be said now.
Opened = TimestampOffset | KafkaError | None
#: Opens a batch off the loop; the callback gets the outcome on the loop.
OpenElsewhere = Callable[[Candidate, Callable[[Opened], None]], None]


@dataclass(slots=True)
class TimeLookup:
    """What is looked up in one partition, and how far that has come."""

    partition: Partition
    search: Search
    #: Nothing from here on may be told.
    end: int
    result: ListOffsetsPartitionResponse

    def next_candidate(self) -> Candidate | None:
        """The next batch to be opened; None at the end of the search."""
        return self.partition.log.next_candidate(self.search)

    def finish(self, found: TimestampOffset) -> None:
        if found.offset < self.end:
            self.result.timestamp = found.timestamp
            self.result.offset = found.offset
            self.result.leader_epoch = found.leader_epoch


class TimeLookups:
    """All lookups of one request, one after the other."""

    def __init__(
        self,
        response: ListOffsetsResponse,
        lookups: list[TimeLookup],
        partitions: Partitions,
        turns: Turns,
        open_elsewhere: OpenElsewhere,
    ) -> None:
        self._response = response
        self._left = lookups[::-1]
        self._partitions = partitions
        #: Shared by all requests: together they take no more of the loop than one does.
        self._turns = turns
        self._open_elsewhere = open_elsewhere
        self._parked = Parked()

    def start(self) -> Parked:
        """Stands for the response, which may be there already."""
        self._go_on_in_turn()
        return self._parked

    def _go_on_in_turn(self) -> None:
        """At once if nobody else is at it."""
        if self._turns.are_taken:
            self._turns.add(self._go_on)
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Search until something has to be waited for, everything is found, or nobody waits."""
        for _ in range(_STEPS_AT_ONCE):
            if not self._left:
                self._parked.complete(self._response)
            if self._parked.is_done or not self._step(self._left[-1]):
                return
        self._turns.add(self._go_on)

    def _step(self, lookup: TimeLookup) -> bool:
        """Go one batch further; False if that happens elsewhere."""
        try:
            return self._search(lookup)
        except KafkaError as error:
            self._refuse(lookup, error.code)
        except Exception:  # the edge of one lookup: its client waits for the others, too
            partition = lookup.partition
            logger.exception("a lookup in %s-%s failed", partition.topic, partition.index)
            self._refuse(lookup, ErrorCode.UNKNOWN_SERVER_ERROR)
        return True

    def _search(self, lookup: TimeLookup) -> bool:
        self._require_present(lookup.partition)
        candidate = lookup.next_candidate()
        if candidate is None:
            self._left.pop()
            return True
        if candidate.is_small:
            try:
                found = open_candidate(candidate, SMALL_BYTES)
            except KafkaError:  # there is more inside than its size tells
                pass
            else:
                self._take(lookup, found)
                return True
        self._open_elsewhere(candidate, partial(self._opened, lookup))
        return False

    def _opened(self, lookup: TimeLookup, found: Opened) -> None:
        if isinstance(found, KafkaError):
            self._refuse(lookup, found.code)
        else:
            self._take(lookup, found)
        self._go_on_in_turn()

    def _take(self, lookup: TimeLookup, found: TimestampOffset | None) -> None:
        if found is not None:
            lookup.finish(found)
            self._left.pop()

    def _refuse(self, lookup: TimeLookup, code: ErrorCode) -> None:
        lookup.result.error_code = int(code)
        self._left.pop()

    def _require_present(self, partition: Partition) -> None:
        """Nobody may touch the log of a partition that was deleted since the last step."""
        if self._partitions.require(partition.topic, partition.index) is not partition:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partition.require_leader(-1)
