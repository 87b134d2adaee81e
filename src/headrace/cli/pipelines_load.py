"""`headrace pipelines load`: what a topic got since the last load, to Parquet; made for cron.

What can be wrong with the brokers, the topic and the options is found before Spark starts, which
takes seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from headrace.cli.connecting import (
    add_bootstrap_server,
    default_servers,
    parse_property_options,
    read_command_config,
)
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.cli.output import add_output_argument, print_json, wants_json
from headrace.cli.pipelines_load_progress import Progress
from headrace.spark.pipelines.lock import RunLock
from headrace.spark.pipelines.run_arguments import add_session_arguments, spark_settings
from headrace.spark.pipelines.state_directory import StateDirectory
from headrace.spark.pipelines.table import number, size

#: Kafka numbers partitions with 32 bits; nobody has so many.
_PARTITIONS_MAX = 1_000_000

_DESCRIPTION = """\
Append what a topic got since the last load to Parquet files. The offsets are kept beside the files,
so each run goes on where the one before ended, and one that was killed loses and repeats nothing.
The first begins at the earliest record. Run it from cron:

  5 * * * *  headrace pipelines load orders /data/orders --by-hour --group orders-to-files

A sample of a production topic for tests, from two of its partitions:

  headrace pipelines load orders /data/sample --partitions 0,1
"""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def add_load_parser(actions: Any) -> None:
    parser = actions.add_parser(
        "load",
        help="append what a topic got since the last load to Parquet files, then end",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "directory", metavar="DIRECTORY", help="where the files go: a path, or a URI (hdfs://...)"
    )
    parser.add_argument(
        "--partitions",
        type=partitions_of,
        metavar="N,N-M,...",
        help="only these partitions (default: all)",
    )
    parser.add_argument(
        "--by-hour",
        action="store_true",
        help="a directory for each hour (UTC) of the records' timestamps: hour=2026-11-16-04",
    )
    parser.add_argument(
        "--group", help="a consumer group that is told how far the load is, to show its lag"
    )
    parser.add_argument(
        "--name",
        default="load",
        help="keeps several loads of a topic into one directory apart (default: load)",
    )
    parser.add_argument(
        "--file-mb",
        type=_positive,
        default=128,
        metavar="N",
        help="how large files should be (default: 128)",
    )
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        help='an option of format("headrace"), such as startingTimestamp=MS for the first load,'
        " failOnDataLoss=false, kafka.isolation.level=read_committed; may be given several times",
    )
    parser.add_argument(
        "--command-config", metavar="FILE", help="properties file for the connection to the brokers"
    )
    add_bootstrap_server(parser)
    add_session_arguments(parser)
    add_output_argument(parser)


def partitions_of(text: str) -> list[int]:
    """`0,2,4-6` as numbers."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise argparse.ArgumentTypeError(f"partitions are numbers, such as 0,2,4-6: '{text}'")
        if int(last or first) >= _PARTITIONS_MAX:
            raise argparse.ArgumentTypeError(f"no topic has a partition {last or first}")
        found |= set(range(int(first), int(last if dash else first) + 1))
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' names no partition")
    return sorted(found)


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"a whole number above 0, not '{text}'")
    return int(text)


def load(args: argparse.Namespace) -> int:
    state = StateDirectory.find(args.state_dir)
    place = json.dumps([args.name, args.topic, os.path.abspath(args.directory)])
    lock = RunLock(os.path.join(state.path, ".loads", f"{sha256(place.encode()).hexdigest()}.lock"))
    if not lock.acquire():
        raise CommandFailedError(
            f"Another load '{args.name}' of {args.topic} into {args.directory} is running; the next"
            " one takes what comes meanwhile."
        )
    try:
        return _load(args, state)
    finally:
        lock.release()


def _load(args: argparse.Namespace, state: StateDirectory) -> int:
    from headrace.spark.pipelines.requirements import check_requirements

    options = options_of(args)
    check_source(args.topic, args.partitions, options)
    check_requirements()
    from headrace.spark.session import SessionConfig, close_session, open_session
    from headrace.spark.stores.topic_loads import load_topic

    begun = time.monotonic()
    stem = _UNSAFE.sub("-", f"load-{args.topic}")
    config = SessionConfig(
        app_name=f"headrace load {args.topic}",
        master=args.master,
        bootstrap_servers=options["kafka.bootstrap.servers"],
        conf=spark_settings(args.conf),
        log_file=os.path.join(state.path, ".spark", f"{stem}.log"),
    )
    progress = Progress(args.topic)
    progress.say(f"Loading {args.topic} into {args.directory}; starting Spark.")
    spark = open_session(config)
    try:
        with progress.following(spark):
            done = load_topic(
                *(spark, args.topic, args.directory),
                partitions=args.partitions,
                by_hour=args.by_hour,
                group=args.group,
                name=args.name,
                target_file_bytes=args.file_mb * 1024 * 1024,
                options=options,
                begin=progress.begin,
            )
    except KeyboardInterrupt:
        progress.say("Stopped: the next load takes what this one did not; nothing comes twice.")
        raise
    except Exception as error:
        if sentence := _sparks(error):
            raise CommandFailedError(f"{sentence} (Spark's log is {config.log_file})") from error
        raise
    finally:
        close_session(spark)
    seconds = round(time.monotonic() - begun, 1)
    if wants_json(args):
        place = {"topic": args.topic, "directory": args.directory, "name": args.name}
        print_json({**place, "group": args.group, **asdict(done), "seconds": seconds})
    else:
        print(summary(args.topic, args.directory, done, seconds))
    return 0


def options_of(args: argparse.Namespace) -> dict[str, str]:
    """The options of the source: the properties file first, then --option, then the brokers."""
    settings = read_command_config(args.command_config)
    options = {f"kafka.{name}": value for name, value in settings.items()}
    options |= parse_property_options(args.option)
    named = args.bootstrap_server or options.get("kafka.bootstrap.servers")
    return {**options, "kafka.bootstrap.servers": named or default_servers()}


def check_source(topic: str, partitions: list[int] | None, options: dict[str, str]) -> None:
    """Whether the options make sense, and the partitions are there; raises PipelineError."""
    from headrace.spark.cluster_offsets import ClusterOffsets
    from headrace.spark.options import SourceOptions
    from headrace.spark.stores.topic_loads import source_options

    if "," in topic or not topic.strip():
        raise UsageError("a load takes one topic: load others with a command of their own.")
    chosen = source_options(topic, partitions, options)
    cluster = ClusterOffsets(SourceOptions.parse(chosen, is_streaming=False))
    try:
        cluster.require_partitions()
    finally:
        cluster.close()


def summary(topic: str, directory: str, done: Any, seconds: float) -> str:
    """The one line that stays in cron's mail."""
    if not done.offsets:
        return f"{topic}: nothing new since the last load."
    files = f"{number(done.files)} file{'' if done.files == 1 else 's'}"
    return (
        f"{topic}: {number(done.offsets)} offsets in {files} ({size(done.bytes)}) below"
        f" {directory}, {seconds} s; it ends at {json.dumps(done.ending[topic])}."
    )


def _sparks(error: Exception) -> str | None:
    """What Spark failed with, in one sentence; None for errors that are sentences already."""
    if type(error).__module__.partition(".")[0] not in ("py4j", "pyspark"):
        return None
    from headrace.spark.pipelines.failures import explain

    return explain(str(error)).sentence
