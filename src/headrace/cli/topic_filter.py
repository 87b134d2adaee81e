"""Kafka's topic patterns: a regular expression, or several with commas between them."""

from __future__ import annotations

import re

from headrace.cli.failure import CommandFailedError

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


class TopicFilter:
    """Matches whole topic names; quotes and blanks around the pattern do not count."""

    def __init__(self, pattern: str) -> None:
        regex = pattern.strip().replace(",", "|").replace(" ", "")
        regex = re.sub("^[\"']+|[\"']+$", "", regex)
        try:
            self._regex = re.compile(regex)
        except re.error as error:
            raise CommandFailedError(f"{regex} is an invalid regex.") from error

    def allows(self, topic: str, *, exclude_internal: bool = False) -> bool:
        if exclude_internal and topic in INTERNAL_TOPICS:
            return False
        return self._regex.fullmatch(topic) is not None
