"""Which topics the members of a classic consumer group read, as far as they tell."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from headrace.protocol import compiler
from headrace.protocol.embedded import ConsumerProtocolSubscription
from headrace.protocol.errors import ProtocolError

_SHORT = struct.Struct(">h")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The union of all members' topics, or None if a member's metadata cannot be read.

    The layout belongs to the clients; all that is relied upon is that every version begins like
    version 0.
    """
    topics: set[str] = set()
    for subscription in subscriptions:
        try:
            _SHORT.unpack_from(subscription)
            read, _ = compiler.read(ConsumerProtocolSubscription, 0, subscription, 2)
        except (struct.error, ProtocolError):
            return None
        topics.update(read.topics)
    return frozenset(topics)
