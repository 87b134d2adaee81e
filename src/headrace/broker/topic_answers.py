"""How topics look in answers: names that are allowed, topics that are Kafka's own."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError

#: Topics that the brokers themselves write.
INTERNAL_TOPICS = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)
_NAME_LENGTH_MAX = 249
_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def check_topic_name(name: str) -> None:
    """Kafka's rules for topic names."""
    if not name:
        problem = "it is empty"
    elif name in (".", ".."):
        problem = "it is '.' or '..'"
    elif len(name) > _NAME_LENGTH_MAX:
        problem = f"it is longer than {_NAME_LENGTH_MAX} characters"
    elif not _ALLOWED.issuperset(name):
        problem = "only letters, digits, '.', '_' and '-' are allowed"
    else:
        return
    shown = name if len(name) <= 300 else name[:300] + "..."
    raise KafkaError(
        ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name {shown!r} is not allowed: {problem}."
    )
