"""`headrace consumer-groups --delete` and `--delete-offsets`."""

from __future__ import annotations

import argparse

from headrace.base.errors import ErrorCode, KafkaError
from headrace.cli.consumer_groups import chosen_groups, print_error
from headrace.cli.consumer_groups_errors import java_text, sentence
from headrace.cli.consumer_groups_topics import parse_partitions, topic_partitions
from headrace.cli.java_order import hash_order
from headrace.cli.output import print_json, wants_json
from headrace.client.blocking import KafkaClient
from headrace.client.groups import delete_groups
from headrace.client.groups_offsets import delete_offsets
from headrace.client.leaders import TopicPartition

_OF_THE_GROUP = (
    ErrorCode.INVALID_GROUP_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.NON_EMPTY_GROUP,
)
_OF_PARTITIONS = (
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


def delete(client: KafkaClient, args: argparse.Namespace) -> int:
    outcome = delete_groups(client, chosen_groups(client, args))
    failed = {group: error for group, error in outcome.items() if error is not None}
    deleted = ", ".join(f"'{group}'" for group in hash_order(outcome) if group not in failed)
    if wants_json(args):
        print_json(
            {
                "groups": [
                    {"group": group, "error": None if error is None else sentence(error)}
                    for group, error in outcome.items()
                ]
            }
        )
    elif not failed:
        print(f"Deletion of requested consumer groups ({deleted}) was successful.")
    else:
        print_error("Deletion of some consumer groups failed:")
        for group in hash_order(failed):
            print(f"* Group '{group}' could not be deleted due to: {java_text(failed[group])}")
        if deleted:
            print(f"\nThese consumer groups were deleted successfully: {deleted}")
    return int(bool(failed))


def delete_offsets_of(client: KafkaClient, args: argparse.Namespace) -> int:
    group = args.group[0]
    known = [tp for text in args.topic if ":" in text for tp in parse_partitions(text)]
    outcome: dict[TopicPartition, KafkaError | None] = {}
    whole_topics = (text for text in args.topic if ":" not in text)
    for topic, rows in topic_partitions(client, whole_topics).items():
        if isinstance(rows, KafkaError):
            outcome[topic, -1] = rows
        else:
            known += rows
    failure = None
    try:
        outcome |= delete_offsets(client, group, known)
        failure = next((error for error in map(outcome.get, known) if error is not None), None)
    except KafkaError as error:
        failure = error
        outcome |= dict.fromkeys(known, error)
    if wants_json(args):
        print_json({"group": group, "offsets": _as_json(outcome)})
    else:
        _print_outcome(group, failure)
        _print_table(outcome)
    return int(any(error is not None for error in outcome.values()))


def _print_outcome(group: str, failure: KafkaError | None) -> None:
    if failure is None:
        print(f"Request succeeded for deleting offsets from group {group}.")
    elif failure.code in _OF_THE_GROUP:
        print_error(sentence(failure))
    elif failure.code in _OF_PARTITIONS:
        print_error("Encountered some partition-level error, see the follow-up details.")
    else:
        print_error(f"Encountered some unknown error: {failure.code.name}")


def _print_table(outcome: dict[TopicPartition, KafkaError | None]) -> None:
    width = max([15, *(len(topic) for topic, _ in outcome)])
    rows = [("TOPIC", "PARTITION", "STATUS")]
    # Kafka sorts by the text of topic and partition, so partition 10 comes before 2.
    for topic, index in sorted(outcome, key=lambda row: f"{row[0]}{row[1]}"):
        error = outcome[topic, index]
        status = "Successful" if error is None else f"Error: {java_text(error)}"
        rows.append((topic, "-" if index < 0 else str(index), status))
    for name, partition, status in rows:
        print(f"\n{name:<{width}} {partition:<10} {status:<15}", end="")
    print()


def _as_json(outcome: dict[TopicPartition, KafkaError | None]) -> list[dict[str, object]]:
    return [
        {
            "topic": topic,
            "partition": None if index < 0 else index,
            "error": None if error is None else sentence(error),
        }
        for (topic, index), error in sorted(outcome.items())
    ]
