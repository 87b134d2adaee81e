"""Which topics a member of a classic consumer group reads, as far as it tells."""

from __future__ import annotations

import struct

from headrace.protocol import compiler
from headrace.protocol.embedded import ConsumerProtocolSubscription
from headrace.protocol.errors import ProtocolError

_SHORT = struct.Struct(">h")


def subscribed_topics(subscription: bytes) -> list[str] | None:
    """A member's topics, or None if its metadata cannot be read.

    The layout belongs to the clients; all that is relied upon is that every version begins like
    version 0.
    """
    try:
        _SHORT.unpack_from(subscription)
        read, _ = compiler.read(ConsumerProtocolSubscription, 0, subscription, 2)
    except (struct.error, ProtocolError):
        return None
    return read.topics
