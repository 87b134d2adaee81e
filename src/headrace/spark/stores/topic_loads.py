"""Batch loads: what a topic got since the last run, to Parquet, with the offsets beside the data.

The offsets that a load ends at are part of the record that decides it (see `commit_log`). A run
that is killed has either decided, and the next one publishes its files and goes on behind them, or
it has not, and the next one reads the same records again. A consumer group, if one is named, is
told afterwards: it shows the lag, and is not what the next run starts from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.base.errors import KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.groups_offsets import CommittedOffset, commit_offsets
from headrace.client.metadata import ask_topics
from headrace.spark.cluster_offsets import ClusterOffsets
from headrace.spark.errors import DataLossError, OptionError, PipelineError
from headrace.spark.offsets import from_json, to_json
from headrace.spark.options import SourceOptions
from headrace.spark.session import BOOTSTRAP
from headrace.spark.stores.batches import Batch
from headrace.spark.stores.commit_log import Commit
from headrace.spark.stores.load_ranges import LoadRange, next_range
from headrace.spark.stores.parquet import ParquetTarget
from headrace.spark.stores.parquet_staging import ParquetStaging
from headrace.spark.stores.sizing import TARGET_FILE_BYTES


@dataclass(frozen=True, slots=True)
class TopicLoad:
    """What a run did; offsets as in a checkpoint, `{"orders": {"0": 12}}`."""

    starting: dict[str, dict[str, int]]
    ending: dict[str, dict[str, int]]
    #: Offsets between the two, 0 if there was nothing new.
    offsets: int
    files: int = 0
    bytes: int = 0


def load_topic(
    spark: Any,
    topic: str,
    path: str,
    *,
    bootstrap: str | None = None,
    partitions: Sequence[int] | None = None,
    by_hour: bool = False,
    group: str | None = None,
    name: str = "load",
    target_file_bytes: int = TARGET_FILE_BYTES,
    batch_column: str | None = None,
    options: Mapping[str, str] | None = None,
    begin: Callable[[int], None] | None = None,
) -> TopicLoad:
    """Append what the topic got since the last load of this `name` to the Parquet files at `path`.

    `partitions` takes a slice of the topic, `by_hour` puts the records into a directory for each
    hour (UTC) of their timestamps, `options` are any of `format("headrace")`. The first load begins
    at `startingOffsets`, or else at the earliest. `begin` is told how many offsets there are to
    load, before they are read.
    """
    servers = bootstrap or spark.conf.get(BOOTSTRAP, "")
    given = {"kafka.bootstrap.servers": servers, "includeHeaders": "true", **(options or {})}
    parsed = SourceOptions.parse(source_options(topic, partitions, given), is_streaming=False)
    load = _Load(spark, topic, given, parsed, begin)
    staging = ParquetStaging(["hour"] if by_hour else [], target_file_bytes)
    return load.run(ParquetTarget(str(path), staging, batch_column), name, group)


@dataclass(frozen=True, slots=True)
class _Load:
    spark: Any
    topic: str
    given: Mapping[str, str]
    options: SourceOptions
    begin: Callable[[int], None] | None = None

    def run(self, target: ParquetTarget, name: str, group: str | None) -> TopicLoad:
        batch = Batch(f"{name}:{self.topic}", 0, f"{name}-{self.topic}")
        log = target.log(self.spark, batch)
        log.settle()
        last = log.newest()
        topic_id = self._topic_id(last)
        loaded = from_json(last.notes["offsets"]) if last is not None else {}
        taken = self._range(loaded)
        if self.begin is not None:
            self.begin(taken.count)
        done: Commit | None = None
        if taken.count:
            number = 0 if last is None else last.batch_id + 1
            offsets = to_json({**loaded, **taken.ending})
            notes = {"offsets": offsets, "topic_id": topic_id}
            rows = self._read(taken, with_hour="hour" in target.staging.partition_by)
            done = target.write(rows, Batch(batch.query, number, batch.label), notes)
        if group is not None:
            self._tell(group, taken)
        return TopicLoad(
            to_json(taken.starting),
            to_json(taken.ending),
            taken.count,
            files=0 if done is None else len(done.files),
            bytes=0 if done is None else done.bytes,
        )

    def _range(self, loaded: Mapping[tuple[str, int], int]) -> LoadRange:
        cluster = ClusterOffsets(self.options)
        try:
            partitions = cluster.require_partitions()
            earliest = cluster.earliest(partitions)
            # Partitions that were added later are read from their beginning, as Spark does.
            first = earliest
            if not loaded:
                first = cluster.resolve(self.options.starting, partitions, "startingOffsets")
            return next_range(
                earliest,
                cluster.latest(partitions),
                {**first, **loaded},
                fail_on_data_loss=self.options.read.fail_on_data_loss,
            )
        finally:
            cluster.close()

    def _read(self, taken: LoadRange, *, with_hour: bool) -> Any:
        from pyspark.sql import functions as F

        changed = {key: end for key, end in taken.ending.items() if end > taken.starting[key]}
        ranges = {
            "assign": json.dumps({self.topic: sorted(index for _, index in changed)}),
            "startingOffsets": json.dumps(to_json({key: taken.starting[key] for key in changed})),
            "endingOffsets": json.dumps(to_json(changed)),
        }
        rows = self.spark.read.format("headrace").options(**{**self.given, **ranges}).load()
        if not with_hour:
            return rows
        # By arithmetic, since Spark's functions on times follow the time zone of the session.
        hours = F.floor(F.unix_micros("timestamp") / F.lit(3_600_000_000)).cast("int")
        day = F.date_add(F.lit("1970-01-01").cast("date"), F.floor(hours / F.lit(24)).cast("int"))
        hour = F.lpad(F.pmod(hours, F.lit(24)).cast("string"), 2, "0")
        return rows.withColumn("hour", F.concat_ws("-", day.cast("string"), hour))

    def _topic_id(self, last: Commit | None) -> str:
        """A topic that was deleted and made again is another one, whatever its offsets are."""
        try:
            with KafkaClient(self.options.read.client_config()) as client:
                answer = client.retry(lambda: ask_topics(client.any_node(), [self.topic]))
        except KafkaError as error:
            raise PipelineError(error.message) from None
        found = next((it.topic_id.hex() for it in answer.topics if any(it.topic_id)), "")
        before = last.notes.get("topic_id", "") if last is not None else ""
        if found and before and found != before and self.options.read.fail_on_data_loss:
            raise DataLossError(
                f"Topic {self.topic} was made again since the last load: load it under another"
                " name, or into another directory."
            )
        return found

    def _tell(self, group: str, taken: LoadRange) -> None:
        offsets = {key: CommittedOffset(end) for key, end in taken.ending.items()}
        try:
            with KafkaClient(self.options.read.client_config()) as client:
                commit_offsets(client, group, offsets)
        except KafkaError as error:
            raise PipelineError(
                f"The load is done, but group {group} was not told: {error.message}"
            ) from None


def source_options(
    topic: str, partitions: Sequence[int] | None, given: Mapping[str, str]
) -> dict[str, str]:
    """All options of the source: those given, and what a load decides itself."""
    for name in given:
        if name.lower().startswith(("subscribe", "assign", "ending")):
            raise OptionError(f"{name} is not an option of a load: it knows what it reads.")
    if partitions is None:
        return {**given, "subscribe": topic}
    if not partitions:
        raise OptionError("partitions names no partition.")
    return {**given, "assign": json.dumps({topic: sorted(set(partitions))})}
