"""What a query asks the cluster while it plans: which partitions there are, and their offsets."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.client.leaders import TopicPartition
from headrace.client.metadata import NOT_READY, ask_topics
from headrace.client.offsets import EARLIEST, LATEST, UNKNOWN_OFFSET, list_offsets
from headrace.spark.errors import OptionError, PipelineError
from headrace.spark.offset_specs import OffsetSpec
from headrace.spark.options import SourceOptions

T = TypeVar("T")

#: A topic that is being made, or that a broker has not heard of yet, is not there for now.
_NOT_THERE = (ErrorCode.NONE, *NOT_READY)
#: How often, and how long apart, a query looks again for a partition that has vanished.
_LOOKS = 5
_LOOK_PAUSE_S = 0.3


class ClusterOffsets:
    """One connection to the cluster for the life of a query, on the driver's side."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._client = KafkaClient(options.read.client_config())

    def close(self) -> None:
        self._client.close()

    # ---------------------------------------------------------------- partitions

    def partitions(self) -> set[TopicPartition]:
        """Everything that the query reads now; topics may come and go."""
        return self._try(self._find_partitions)

    def _find_partitions(self) -> set[TopicPartition]:
        chosen = self._options.subscription
        names = None if chosen.pattern is not None else [*chosen.topics, *chosen.assigned]
        answer = ask_topics(self._client.any_node(), names)
        found = set()
        for topic in answer.topics:
            if topic.error_code not in _NOT_THERE:
                raise_for_code(topic.error_code, f"Topic {topic.name} cannot be read.")
            found |= {(topic.name or "", row.partition_index) for row in topic.partitions}
        if chosen.pattern is not None:
            pattern = re.compile(chosen.pattern)
            return {key for key in found if pattern.fullmatch(key[0])}
        if chosen.assigned:
            return {key for key in found if key[1] in chosen.assigned.get(key[0], ())}
        return found

    def still_there(self, known: Iterable[TopicPartition]) -> set[TopicPartition]:
        """As `partitions`; one that was there is believed to be gone only after several looks."""
        found = self.partitions()
        for _ in range(_LOOKS):
            if found.issuperset(known):
                break
            time.sleep(_LOOK_PAUSE_S)
            found = self.partitions()
        return found

    def require_partitions(self) -> set[TopicPartition]:
        """The partitions at the start of a query: what is named has to be there."""
        chosen = self._options.subscription
        deadline = time.monotonic() + 5  # a topic that was just made may not be known everywhere
        while True:
            found = self.partitions()
            wanted = {(topic, index) for topic, rows in chosen.assigned.items() for index in rows}
            missing = sorted(
                [topic for topic in chosen.topics if topic not in {name for name, _ in found}]
                + [f"{topic}-{index}" for topic, index in wanted - found]
            )
            if not missing:
                return found
            if time.monotonic() > deadline:
                raise PipelineError(
                    f"No such topic or partition: {', '.join(missing)}. Create it first, for"
                    " instance with `headrace topics --create`."
                )
            time.sleep(0.2)

    # ---------------------------------------------------------------- offsets

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._list(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The ends: behind the last record, or behind the last that is committed."""
        return self._list(dict.fromkeys(partitions, LATEST))

    def resolve(
        self, spec: OffsetSpec, partitions: set[TopicPartition], option: str
    ) -> dict[TopicPartition, int]:
        """The offsets that a user's words mean for these partitions."""
        if spec.everywhere is not None:
            return self._list(dict.fromkeys(partitions, spec.everywhere))
        if spec.timestamp is not None:
            return self._at_times(dict.fromkeys(partitions, spec.timestamp), spec, option)
        if spec.timestamps:
            _require_same(option, set(spec.timestamps), partitions)
            return self._at_times(spec.timestamps, spec, option)
        _require_same(option, set(spec.offsets), partitions)
        special = {key: offset for key, offset in spec.offsets.items() if offset < 0}
        return {**spec.offsets, **self._list(special)}

    def _at_times(
        self, times: Mapping[TopicPartition, int], spec: OffsetSpec, option: str
    ) -> dict[TopicPartition, int]:
        found = self._list(times)
        without = [key for key, offset in found.items() if offset == UNKNOWN_OFFSET]
        if without and not spec.latest_if_none:
            topic, index = min(without)
            raise OptionError(
                f"{option}: {topic}-{index} has no record at or after {times[topic, index]}; with"
                " startingOffsetsByTimestampStrategy=latest the query would start at its end."
            )
        return {**found, **self.latest(without)}

    def _list(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        if not wanted:
            return {}
        committed = self._options.read.read_committed
        answers = self._try(lambda: list_offsets(self._client, wanted, read_committed=committed))
        offsets = {}
        for (topic, index), offset in answers.items():
            if isinstance(offset, KafkaError):
                raise PipelineError(f"Offsets of {topic}-{index}: {offset.message}")
            offsets[topic, index] = offset
        return offsets

    def _try(self, ask: Callable[[], T]) -> T:
        """Ask again after a failure, as often as the options say."""
        for left in reversed(range(self._options.fetch_offset_retries)):
            try:
                return self._client.retry(ask)
            except KafkaError as error:
                self._client.close()
                if left == 0:
                    raise PipelineError(error.message) from None
                time.sleep(self._options.fetch_offset_retry_ms / 1000)
        raise AssertionError("unreachable")


def _require_same(option: str, given: set[TopicPartition], partitions: set[TopicPartition]) -> None:
    """Offsets by partition name every partition that is read, and no other."""
    if given != partitions:
        names = ", ".join(f"{topic}-{index}" for topic, index in sorted(given ^ partitions))
        raise OptionError(
            f"{option} has to name exactly the partitions that are read; it differs in {names}"
            " (-2 is the first offset, -1 the end)."
        )
