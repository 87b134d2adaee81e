"""Which topics a source's options ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from headrace.spark.options import Subscription


def subscription_of(options: Mapping[str, str]) -> Subscription:
    """As written; whether it makes sense is for the source to say."""
    given = {name.lower(): value for name, value in options.items()}
    if pattern := given.get("subscribepattern"):
        return Subscription(pattern=pattern)
    if assigned := given.get("assign"):
        try:
            partitions = json.loads(assigned)
            return Subscription(assigned={t: tuple(p) for t, p in partitions.items()})
        except (ValueError, AttributeError, TypeError):
            return Subscription()
    topics = (name.strip() for name in given.get("subscribe", "").split(","))
    return Subscription(topics=tuple(filter(None, topics)))


def reads_topic(subscription: Subscription, topic: str) -> bool:
    if subscription.pattern is not None:
        try:
            return re.fullmatch(subscription.pattern, topic) is not None
        except re.error:
            return False
    return topic in subscription.topics or topic in subscription.assigned


def describe_subscription(options: Mapping[str, str]) -> str:
    """`orders, payments`, or what else says which topics it is."""
    found = subscription_of(options)
    if found.pattern is not None:
        return f"topics matching {found.pattern}"
    if found.assigned:
        parts = (f"{t} [{', '.join(map(str, p))}]" for t, p in found.assigned.items())
        return ", ".join(parts)
    return ", ".join(found.topics)
