"""A group coordinator told as a story: commands in, what it answers and writes out.

The coordinator runs as in a node, but on a clock that the story moves, over a log that is a list.
Every record goes through its bytes, and `restart` makes a new coordinator from those bytes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import CancelTimer, Outcome
from headrace.groups.config import GroupConfig
from headrace.groups.coordinator import GroupCoordinator
from headrace.groups.record_codec import GroupRecordCodec
from headrace.groups.topics import TopicView
from tests.unit.groups.client import LocalClient
from tests.unit.groups.described import whole
from tests.unit.groups.story_requests import REQUESTS, Words
from tests.unit.groups.story_text import record_text, reply_text

START_MS = 1_000_000


class Topics:
    """The topics of the story: each has an id made of its name."""

    version = 1

    def __init__(self) -> None:
        self.known: dict[str, TopicView] = {}

    def named(self, name: str) -> TopicView | None:
        return self.known.get(name)

    def identified(self, topic_id: bytes) -> TopicView | None:
        return next((one for one in self.known.values() if one.topic_id == topic_id), None)

    def names(self) -> list[str]:
        return list(self.known)

    def racks(self, name: str) -> list[list[str]]:
        return []


class Story:
    """Plays one scenario."""

    def __init__(self) -> None:
        self.now_ms = START_MS
        self.config = GroupConfig()
        self.topics = Topics()
        self.codec = GroupRecordCodec()
        #: (key, value, producer id), or a marker as (producer id, committed).
        self.log: list[Any] = []
        self._ids = count(1)
        self._tokens = count(1)
        self._waiting: dict[int, str] = {}
        self._failure: ErrorCode | None = None
        self._out: list[str] = []
        self._load()

    def _load(self) -> None:
        """A new coordinator, from nothing but the log."""
        self.timers: dict[str, float] = {}
        self._waiting.clear()
        self.coordinator = GroupCoordinator(self.config, self.topics, lambda: str(next(self._ids)))
        for entry in self.log:
            if len(entry) == 2:
                self.coordinator.apply_marker(*entry)
                continue
            decoded = self.codec.decode(entry[0], entry[1])
            assert decoded is not None
            self.coordinator.apply(*decoded, entry[2])
        self._carry_out(self.coordinator.loaded(self.now_ms))

    def play(self, line: str) -> list[str]:
        """Run one command; the lines that it prints."""
        self._out = []
        words = Words.parse(line)
        if words.command in REQUESTS:
            self._request(words)
        else:
            own: Callable[[Words], None] = getattr(self, f"_do_{words.command.replace('-', '_')}")
            own(words)
        words.check_all_used()
        return self._out

    # Commands of the world around

    def _do_config(self, words: Words) -> None:
        given = {name: int(value) for name, value in words.rest().items()}
        fields = {name: getattr(self.config, name) for name in GroupConfig.__slots__}
        self.config = GroupConfig(**{**fields, **given})
        self._load()

    def _do_wait(self, words: Words) -> None:
        """Let time pass; timers go off one by one, in order."""
        end_ms = self.now_ms + words.number("ms")
        while self.timers:
            name = min(self.timers, key=lambda one: self.timers[one])
            if self.timers[name] > end_ms:
                break
            self.now_ms = int(max(self.now_ms, self.timers.pop(name)))
            self._carry_out(self.coordinator.timer_expired(name, self.now_ms))
        self.now_ms = end_ms

    def _do_restart(self, words: Words) -> None:
        self._load()

    def _do_fail_write(self, words: Words) -> None:
        self._failure = ErrorCode[words.text("error")]

    def _do_topic(self, words: Words) -> None:
        name = words.text("name")
        topic_id = words.text("id", name).encode().ljust(16, b"-")
        self.topics.known[name] = TopicView(name, topic_id, words.number("partitions", 1))

    def _do_delete_topic(self, words: Words) -> None:
        gone = self.topics.known.pop(words.text("name"))
        self._carry_out(self.coordinator.topics_changed({gone.name}, [gone], self.now_ms))

    def _do_end_transaction(self, words: Words) -> None:
        marker = (words.number("producer"), words.text("result") == "commit")
        self.log.append(marker)
        self.coordinator.apply_marker(*marker)

    def _do_timers(self, words: Words) -> None:
        for name, due_ms in sorted(self.timers.items(), key=lambda one: one[1]):
            self._out.append(f"  {name} in {int(due_ms - self.now_ms)} ms")

    # Requests, and what comes of them

    def _request(self, words: Words) -> None:
        request, version = REQUESTS[words.command](words, self.topics)
        token = next(self._tokens)
        client = LocalClient(words.text("client", "client"), version)
        name = words.text("as", "")
        self._waiting[token] = name or words.command
        outcome = self.coordinator.handle(token, request, client, self.now_ms)
        self._carry_out(outcome)
        if token in self._waiting:
            self._out.append(f"{self._waiting[token]} waits")

    def _carry_out(self, outcome: Outcome[Any, Any]) -> None:
        if outcome.records and self._failure is not None:
            error, self._failure = KafkaError(self._failure), None
            if outcome.if_failed is not None:
                self._carry_out(outcome.if_failed(error, self.now_ms))
            else:
                self._reply([(token, error) for token, _ in outcome.replies])
            return
        producer_id = -1 if outcome.producer is None else outcome.producer[0]
        for key, value in outcome.records:
            self.log.append((*self.codec.encode(key, value), producer_id))
            self._out.append(record_text(key, value, producer_id))
        for key, value in outcome.records:
            self.coordinator.apply(key, value, producer_id)
        for change in outcome.timers:
            if isinstance(change, CancelTimer):
                self.timers.pop(change.name, None)
            else:
                self.timers[change.name] = change.at_ms
        self._reply(outcome.replies)

    def _reply(self, replies: list[tuple[int, Any]]) -> None:
        for token, response in replies:
            self._out.append(f"{self._waiting.pop(token)}: {reply_text(whole(response))}")
