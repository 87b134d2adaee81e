"""The session that a pipeline's function gets: Spark's own, whose Kafka reads the runner completes.

A query's checkpoint cannot be told from outside where to begin, and a source knows nothing of the
runner. But options are given before `load()`: the reader of this session notes what is read, and
fills in what the runner knows (the brokers, where a new generation begins, the file that pauses
it). Whoever reads through another session gets Spark's plain reader.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from headrace.spark.offsets import OffsetJson
from headrace.spark.options import Subscription, kafka_settings
from headrace.spark.pipelines.state_directory import HIDDEN
from headrace.spark.pipelines.subscriptions import reads_topic, subscription_of

FORMATS = ("headrace", "kafka")
_SERVERS = "kafka.bootstrap.servers"
_BEGINNINGS = ("startingtimestamp", "startingoffsetsbytimestamp", "startingoffsets")
#: The reader of values holds the registry's settings, credentials among them.
_SECRET = re.compile(
    r"password|secret|jaas|\bkey\b|token|user\.info|headrace\.value\.reader", re.IGNORECASE
)


@dataclass(slots=True)
class Read:
    """A source as the pipeline's function asked for it."""

    format: str
    options: dict[str, str]

    @property
    def is_kafka(self) -> bool:
        return self.format in FORMATS

    @property
    def kafka(self) -> dict[str, str]:
        return kafka_settings(self.options)

    @property
    def bootstrap_servers(self) -> str:
        return self.kafka.get("bootstrap.servers", "")

    def subscription(self) -> Subscription:
        return subscription_of(self.options)

    def described(self) -> dict[str, Any]:
        """Without passwords, for the state directory."""
        shown = {
            name: HIDDEN if _SECRET.search(name) else value for name, value in self.options.items()
        }
        return {"format": self.format, "options": shown}


@dataclass(slots=True)
class Completion:
    """What the runner knows that the pipeline's function need not say."""

    bootstrap_servers: str = ""
    pause_file: str = ""
    #: What the files begin with that keep where each source began, by its place in the function.
    initial_offsets: str = ""
    #: Where a new generation begins: all partitions, by topic.
    starting: OffsetJson | None = None
    reads: list[Read] = field(default_factory=list)

    def complete(self, read: Read) -> dict[str, str]:
        """The options to load with."""
        options = dict(read.options)
        if not read.is_kafka:
            return options
        names = {name.lower() for name in options}
        if _SERVERS not in names and self.bootstrap_servers:
            options[_SERVERS] = read.options[_SERVERS] = self.bootstrap_servers
        if read.format == "headrace" and self.pause_file:
            options["headrace.pause.file"] = self.pause_file
        if read.format == "headrace" and self.initial_offsets:
            file = f"{self.initial_offsets}{len(self.reads)}.json"
            options["headrace.initial.offsets.file"] = file
        if starting := self._starting(read.subscription()):
            for name in [name for name in options if name.lower() in _BEGINNINGS]:
                del options[name]
            options["startingOffsets"] = json.dumps(starting)
        return options

    def _starting(self, subscription: Subscription) -> OffsetJson:
        """Of the topics, or the assigned partitions, that this source reads."""
        theirs = {}
        for topic, partitions in (self.starting or {}).items():
            if reads_topic(subscription, topic):
                chosen = subscription.assigned.get(topic)
                theirs[topic] = {
                    partition: offset
                    for partition, offset in partitions.items()
                    if chosen is None or int(partition) in chosen
                }
        return theirs


class PipelineReader(DataStreamReader):
    """Spark's reader, which notes its options; where to begin is said when it loads."""

    def __init__(self, spark: SparkSession, completion: Completion) -> None:
        super().__init__(spark)
        self._completion = completion
        self._read = Read("", {})

    def format(self, source: str) -> PipelineReader:
        self._read.format = source.lower()
        super().format(source)
        return self

    def option(self, key: str, value: Any) -> PipelineReader:
        if value is not None:
            self._read.options[key] = _text(value)
        # An option cannot be taken back, and the runner may know better where to begin.
        if key.lower() not in _BEGINNINGS:
            super().option(key, value)
        return self

    def options(self, **options: Any) -> PipelineReader:
        for key, value in options.items():
            self.option(key, value)
        return self

    def load(
        self,
        path: str | None = None,
        format: str | None = None,  # noqa: A002 - Spark's own name
        schema: Any = None,
        **options: Any,
    ) -> Any:
        if format is not None:
            self.format(format)
        self.options(**options)
        for name, value in self._completion.complete(self._read).items():
            super().option(name, value)
        if self._read.format:
            self._completion.reads.append(self._read)
        return super().load(path, None, schema)


class PipelineSession(SparkSession):
    """The same session in the JVM, with readers that the runner completes."""

    def __init__(self, spark: SparkSession, completion: Completion) -> None:
        super().__init__(spark.sparkContext, spark._jsparkSession)
        self._completion = completion

    @property
    def readStream(self) -> PipelineReader:  # noqa: N802 - Spark's own name
        return PipelineReader(self, self._completion)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
