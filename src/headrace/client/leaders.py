"""Requests that go to the leaders of partitions: grouped by leader, sent again where it moved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from headrace.base.errors import RETRIABLE, ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.errors import ConnectionFailedError, UnreachableError, error_for_code
from headrace.client.metadata import ask_topics

TopicPartition: TypeAlias = tuple[str, int]
T = TypeVar("T")
#: What one leader says of each partition: an error code with its sentence, and the answer.
LeaderAnswers: TypeAlias = Mapping[TopicPartition, tuple[int, str | None, T]]

NO_LEADER = -1


def find_leaders(client: KafkaClient, topics: Iterable[str]) -> dict[TopicPartition, int]:
    """The leader of every partition of these topics, `NO_LEADER` where there is none now."""
    answer = client.retry(lambda: ask_topics(client.any_node(), sorted(set(topics))))
    leaders = {}
    for topic in answer.topics:
        if topic.error_code == ErrorCode.NONE and topic.name is not None:
            for partition in topic.partitions:
                leaders[topic.name, partition.partition_index] = partition.leader_id
    return leaders


def ask_leaders(
    client: KafkaClient,
    partitions: Iterable[TopicPartition],
    send: Callable[[BlockingConnection, list[TopicPartition]], LeaderAnswers[T]],
    *,
    known: Mapping[TopicPartition, int] | None = None,
) -> dict[TopicPartition, T | KafkaError]:
    """Let `send` ask each leader about its partitions, and again until all have an answer.

    A partition that fails for good, or until the API time-out, has its error as its answer.
    `known` are the leaders as last heard; the first attempt goes to them.
    """
    deadline = time.monotonic() + client.config.default_api_timeout_ms / 1000
    backoff_ms = client.config.retry_backoff_ms
    waiting = dict.fromkeys(partitions)
    done: dict[TopicPartition, T | KafkaError] = {}
    leaders = known
    while waiting:
        failures: dict[TopicPartition, KafkaError] = {}
        if leaders is None:
            leaders = find_leaders(client, (topic for topic, _ in waiting))
        for leader, group in group_by_leader(waiting, leaders).items():
            for partition, outcome in _ask_one(client, leader, group, send).items():
                if isinstance(outcome, KafkaError) and outcome.code in RETRIABLE:
                    failures[partition] = outcome
                else:
                    done[partition] = outcome
        waiting = dict.fromkeys(failures)
        if waiting and time.monotonic() + backoff_ms / 1000 >= deadline:
            return done | failures
        if waiting:
            time.sleep(backoff_ms / 1000)
            backoff_ms = min(backoff_ms * 2, client.config.retry_backoff_max_ms)
            leaders = None
    return done


def group_by_leader(
    partitions: Iterable[TopicPartition], leaders: Mapping[TopicPartition, int]
) -> dict[int, list[TopicPartition]]:
    """The partitions of each leader; those without one stand under `NO_LEADER`."""
    groups: dict[int, list[TopicPartition]] = {}
    for partition in partitions:
        groups.setdefault(leaders.get(partition, NO_LEADER), []).append(partition)
    return groups


def _ask_one(
    client: KafkaClient,
    leader: int,
    group: list[TopicPartition],
    send: Callable[[BlockingConnection, list[TopicPartition]], LeaderAnswers[T]],
) -> dict[TopicPartition, T | KafkaError]:
    if leader == NO_LEADER:
        return dict.fromkeys(group, error_for_code(ErrorCode.LEADER_NOT_AVAILABLE))
    try:
        answers = send(client.node(leader), group)
    except UnreachableError:
        raise
    except ConnectionFailedError as error:
        client.close()
        return dict.fromkeys(group, error)
    except KafkaError as error:
        return dict.fromkeys(group, error)
    outcomes: dict[TopicPartition, T | KafkaError] = {}
    for partition in group:
        code, message, answer = answers.get(
            partition, (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None, None)
        )
        outcomes[partition] = error_for_code(code, message) if code else answer  # type: ignore[assignment]
    return outcomes
