"""Which names a topic may have."""

import re
from collections.abc import Collection
from itertools import product

from headrace.base.errors import ErrorCode, KafkaError

NAME_LENGTH_MAX = 249
METADATA_TOPIC = "__cluster_metadata"
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+\Z")
#: Up to this many '.' and '_' in a name, trying all spellings beats looking at all topics.
_TRIED_CHARACTERS_MAX = 8


def check_topic_name(name: str) -> None:
    """Raise INVALID_TOPIC_EXCEPTION for a name that no topic can have."""
    problem = _problem(name)
    if problem:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")


def _problem(name: str) -> str:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > NAME_LENGTH_MAX:
        return f"the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"
    if not _LEGAL.match(name):
        return (
            f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_'"
            " and '-'"
        )
    return ""


def colliding_topic(name: str, topics: Collection[str]) -> str | None:
    """A topic whose name differs only in '.' against '_': their metrics would be the same."""
    parts = re.split(r"([._])", name)
    if len(parts) == 1:
        return None
    separators = len(parts) // 2
    if separators > _TRIED_CHARACTERS_MAX:
        unified = name.replace(".", "_")
        return next((other for other in topics if other.replace(".", "_") == unified), None)
    for choice in product("._", repeat=separators):
        spelled = list(parts)
        spelled[1::2] = choice
        other = "".join(spelled)
        if other in topics:
            return other
    return None
