"""Which topics `headrace topics` is about, and how it says that something cannot be done."""

from __future__ import annotations

import argparse

from headrace.cli.failure import CommandFailedError
from headrace.cli.topic_filter import TopicFilter
from headrace.client.blocking import KafkaClient
from headrace.client.metadata import ask_topics


def topic_names(
    client: KafkaClient, pattern: str | None, *, exclude_internal: bool = False
) -> list[str]:
    """The names of all topics that match, sorted."""
    answer = client.retry(lambda: ask_topics(client.any_node(), None))
    matches = TopicFilter(".*" if pattern is None else pattern)
    return sorted(
        topic.name
        for topic in answer.topics
        if topic.name is not None
        and not (exclude_internal and topic.is_internal)
        and matches.allows(topic.name, exclude_internal=exclude_internal)
    )


def require_topics(found: list[str], args: argparse.Namespace) -> None:
    if args.topic and not found and not args.if_exists:
        raise failed(f"Topic '{args.topic}' does not exist as expected")


def failed(text: str) -> CommandFailedError:
    return CommandFailedError(f"Error while executing topic command : {text}")
