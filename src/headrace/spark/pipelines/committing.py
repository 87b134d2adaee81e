"""After each batch: its end offsets to the consumer group, and into the pipeline's record."""

from __future__ import annotations

import time
from dataclasses import replace

from headrace.base.errors import KafkaError
from headrace.spark.offsets import OffsetJson
from headrace.spark.pipelines.starting import Prepared
from headrace.spark.pipelines.state_directory import PipelineDirectory
from headrace.spark.pipelines.status import RunStatus

_LAG_SECONDS = 1.0
#: After a broker did not answer.
_PAUSE_SECONDS = 2.0
_LAST_ATTEMPTS = 3


class Commits:
    """Keeps the group where the query is; a broker that is away gets it later."""

    def __init__(self, prepared: Prepared, directory: PipelineDirectory, status: RunStatus) -> None:
        self._prepared = prepared
        self._directory = directory
        self._status = status
        self._lag_at = 0.0
        self._not_before = 0.0
        #: Where the group is known to be.
        self._done: OffsetJson = {} if prepared.is_behind else prepared.position or {}

    def close(self) -> None:
        for group in self._prepared.groups:
            group.close()

    def work(self, *, is_last: bool) -> None:
        """Commit what is new, and look how long the lag is, now and then."""
        attempts = _LAST_ATTEMPTS if is_last else 1
        while attempts:
            attempts -= 1
            if not is_last and time.monotonic() < self._not_before:
                return
            try:
                self._commit()
                if is_last or time.monotonic() - self._lag_at >= _LAG_SECONDS:
                    self._look_at_lag()
                self._status.commit_error = None
                return
            except (KafkaError, OSError) as error:
                self._status.commit_error = str(error)
                self._not_before = time.monotonic() + _PAUSE_SECONDS

    def _commit(self) -> None:
        offsets, batch_id = self._status.statistics.offsets, self._status.batch_id
        is_stateful = bool(self._status.statistics.state_operators)
        if offsets == self._done or batch_id is None:
            return
        running = self._prepared.running
        if not running.commits_offsets_itself:
            for group in self._prepared.groups:
                group.commit(offsets, running.commit_metadata(batch_id))
        self._done = offsets
        record = self._prepared.record
        self._prepared.record = replace(
            record,
            committed=offsets,
            batch=batch_id,
            stateful=is_stateful or record.stateful,
            sink=running.output or self._status.statistics.sink,
        )
        self._directory.write_record(self._prepared.record)

    def _look_at_lag(self) -> None:
        self._lag_at = time.monotonic()
        if not self._status.statistics.offsets:
            return
        lag: OffsetJson = {}
        for group in self._prepared.groups:
            lag |= group.lag(self._status.statistics.offsets)
        self._status.lag = lag
