"""`to_topic`: a DataFrame's rows as records of a topic, exactly once if asked for."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from headrace.base.errors import KafkaError
from headrace.spark.errors import OptionError
from headrace.spark.exactly_once import BatchTransactions, Writing
from headrace.spark.exactly_once_output import ExactlyOnceOutput
from headrace.spark.pipelines import context
from headrace.spark.session import BOOTSTRAP
from headrace.spark.sink_columns import check_columns
from headrace.spark.sink_errors import in_one_sentence
from headrace.spark.sink_in_query import write_in_query
from headrace.spark.sink_options import SinkOptions

_TIMEOUT = "kafka.transaction.timeout.ms"


def to_topic(
    df: Any,
    *,
    topic: str | None = None,
    bootstrap: str | None = None,
    exactly_once: bool = False,
    group: str | None = None,
    transactional_id: str | None = None,
    checkpoint: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Any:
    """Write rows (key, value, headers, topic, partition, timestamp) to a topic.

    A streaming DataFrame gives a DataStreamWriter that is not yet started; any other is written at
    once. With `exactly_once` each micro-batch is one Kafka transaction, which also commits the
    offsets that the batch read up to in the topics of `format("headrace")` to the group.

    topic              for all rows; without it each row's column `topic` says where it goes
    bootstrap          the cluster; under the pipeline runner, the runner's
    group              the consumer group for the offsets; under the runner, the pipeline's
    transactional_id   who fences whom: two runs with the same id cannot both write
    checkpoint         the query's checkpointLocation, where the caller does not set it
    options            further options of the sink, `kafka.compression.type` and the like
    """
    spark = df.sparkSession
    given = _all_options(spark, topic, bootstrap, options)
    parsed = SinkOptions.parse({k: v for k, v in given.items() if k != _TIMEOUT})
    columns = check_columns(df.schema, parsed.topic)
    if not df.isStreaming:
        running = context.current(spark)
        if running is not None:
            running.add_output(_described(parsed, exactly_once=False))
        if not exactly_once:
            df.write.format("headrace").mode("append").options(**given).save()
            return None
        name = transactional_id or f"headrace.batch.{secrets.token_hex(8)}"
        _write_batch(df, Writing(parsed, name, *_timeout(given)))
        return None
    writer = df.writeStream
    running = context.building()
    if running is not None:
        running.add_output(_described(parsed, exactly_once=exactly_once))
    if exactly_once:
        output = ExactlyOnceOutput(
            spark, parsed, group=group, transactional_id=transactional_id, timeout=_timeout(given)
        )
        if running is not None:
            running.commits_offsets_itself = group in (None, running.group)
        writer = writer.foreachBatch(output)
    elif checkpoint is not None or running is not None:
        writer = write_in_query(df, parsed, columns)
    else:
        # A query that ends in `noop` would start without a checkpoint, and begin anew each time;
        # for this format Spark insists on one.
        writer = writer.format("headrace").options(**given)
    return writer if checkpoint is None else writer.option("checkpointLocation", checkpoint)


def _described(options: SinkOptions, *, exactly_once: bool) -> str:
    where = "topics by row" if options.topic is None else f"topic {options.topic}"
    return f"{where}, exactly once" if exactly_once else where


def _write_batch(df: Any, writing: Writing) -> None:
    transactions = BatchTransactions(writing)
    try:
        transactions.write(df, dict)
    except KafkaError as error:
        raise in_one_sentence(error) from error
    finally:
        transactions.close()


def _all_options(
    spark: Any, topic: str | None, bootstrap: str | None, options: Mapping[str, str] | None
) -> dict[str, str]:
    given = {name: str(value) for name, value in (options or {}).items()}
    servers = bootstrap or given.get("kafka.bootstrap.servers") or _runner_servers(spark)
    if servers:
        given["kafka.bootstrap.servers"] = servers
    if topic is not None:
        given["topic"] = topic
    return given


def _runner_servers(spark: Any) -> str:
    running = context.building()
    if running is not None and running.bootstrap_servers:
        return running.bootstrap_servers
    return str(spark.conf.get(BOOTSTRAP, ""))


def _timeout(given: Mapping[str, str]) -> tuple[int, ...]:
    text = given.get(_TIMEOUT)
    if text is None:
        return ()
    if not text.isdecimal() or int(text) <= 0:
        raise OptionError(f"{_TIMEOUT} is a whole number above 0, not {text!r}.")
    return (int(text),)
