"""`headrace delete-records`: Kafka's `kafka-delete-records.sh`."""

from __future__ import annotations

import argparse
import json
from typing import Any

from headrace.base.errors import KafkaError
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.failure import CommandFailedError, describe
from headrace.cli.output import add_output_argument, print_json, wants_json
from headrace.client.blocking import KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.leaders import LeaderAnswers, TopicPartition, ask_leaders
from headrace.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser)
    add_output_argument(parser)
    parser.add_argument(
        "--offset-json-file",
        required=True,
        metavar="FILE",
        help="records before these offsets go (-1: all); the form is"
        ' {"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version": 1}',
    )


def run(args: argparse.Namespace) -> int:
    try:
        with open(args.offset_json_file, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise CommandFailedError(f"{args.offset_json_file}: {error.strerror}") from error
    offsets = parse_offsets(text)
    is_text = not wants_json(args)
    if is_text:
        print("Executing records delete operation")
    with open_client(args, "headrace-delete-records") as client:
        outcomes = _delete(client, offsets)
    if is_text:
        print("Records delete operation completed:")
    rows: list[dict[str, object]] = []
    for topic, index in offsets:
        outcome = outcomes[topic, index]
        if isinstance(outcome, KafkaError):
            field, value = "error", describe(outcome)
        else:
            field, value = "low_watermark", str(outcome)
        rows.append(
            {"topic": topic, "partition": index, field: outcome if field != "error" else value}
        )
        if is_text:
            print(f"partition: {topic}-{index}\t{field}: {value}")
    if not is_text:
        print_json({"partitions": rows})
    return 0


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """The offsets of the file, or a sentence on what is wrong with it."""
    try:
        document: Any = json.loads(text)
    except ValueError:
        raise CommandFailedError("The input string is not a valid JSON") from None
    if not isinstance(document, dict):
        raise CommandFailedError("The input string is not a JSON object")
    if document.get("version", 1) != 1:
        raise CommandFailedError(f"Not supported version field value {document['version']}")
    if not isinstance(document.get("partitions"), list):
        raise CommandFailedError("Missing partitions field")
    offsets: dict[TopicPartition, int] = {}
    repeated: dict[str, None] = {}
    for row in document["partitions"]:
        try:
            partition = _name(row["topic"]), _whole(row["partition"], bits=31)
            offset = _whole(row["offset"], bits=63)
        except (KeyError, TypeError):
            raise CommandFailedError(
                f"Each partition needs a topic, a partition and an offset, not {json.dumps(row)}"
            ) from None
        if partition in offsets:
            repeated[f"{partition[0]}-{partition[1]}"] = None
        offsets[partition] = offset
    if repeated:
        raise CommandFailedError(
            f"Offset json file contains duplicate topic partitions: {','.join(repeated)}"
        )
    return offsets


def _name(given: object) -> str:
    if isinstance(given, str):
        return given
    raise TypeError


def _whole(given: object, *, bits: int) -> int:
    """The number itself: rounding one would delete records that nobody named."""
    if type(given) is int and -1 <= given < 1 << bits:
        return given
    raise TypeError


def _delete(
    client: KafkaClient, offsets: dict[TopicPartition, int]
) -> dict[TopicPartition, int | KafkaError]:
    def send(
        connection: BlockingConnection, partitions: list[TopicPartition]
    ) -> LeaderAnswers[int]:
        topics: dict[str, list[DeleteRecordsPartition]] = {}
        for topic, index in partitions:
            row = DeleteRecordsPartition(partition_index=index, offset=offsets[topic, index])
            topics.setdefault(topic, []).append(row)
        request = DeleteRecordsRequest(
            topics=[
                DeleteRecordsTopic(name=name, partitions=rows) for name, rows in topics.items()
            ],
            timeout_ms=client.config.request_timeout_ms,
        )
        answer = connection.call(request, DeleteRecordsResponse)
        return {
            (topic.name, row.partition_index): (row.error_code, None, row.low_watermark)
            for topic in answer.topics
            for row in topic.partitions
        }

    return ask_leaders(client, offsets, send)
