"""A coordinator with consumer groups, on a clock that tests move, over a log that is a list.

Every record goes through its bytes. `restart` makes a new coordinator from those bytes alone, with
the last record of each key in the order in which the keys first came, as a node loads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from headrace.base.errors import KafkaError
from headrace.base.outcome import CancelTimer, Outcome
from headrace.groups.config import GroupConfig
from headrace.groups.consumer.config import Bounded, ConsumerGroupConfig
from headrace.groups.consumer.consumer_groups import ConsumerGroups
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.coordinator import GroupCoordinator
from headrace.groups.group import GroupType
from headrace.groups.record_codec import GroupRecordCodec
from headrace.groups.topics import TopicView
from tests.unit.groups.client import LocalClient
from tests.unit.groups.described import whole

#: So that a target can be made with every heartbeat.
AT_ONCE = ConsumerGroupConfig(assignment_interval_ms=Bounded(0, 0, 15_000))


class Topics:
    """The topics of the world; a topic's id is made of its name."""

    def __init__(self) -> None:
        self.version = 1
        self._by_name: dict[str, TopicView] = {}
        self._by_id: dict[bytes, TopicView] = {}

    def put(self, name: str, partitions: int, topic_id: str = "") -> None:
        self.add(TopicView(name, (topic_id or name).encode().ljust(16, b"-"), partitions))

    def add(self, view: TopicView) -> None:
        self.version += 1
        self._by_name[view.name] = self._by_id[view.topic_id] = view

    def remove(self, name: str) -> TopicView:
        self.version += 1
        view = self._by_name.pop(name)
        del self._by_id[view.topic_id]
        return view

    def named(self, name: str) -> TopicView | None:
        return self._by_name.get(name)

    def identified(self, topic_id: bytes) -> TopicView | None:
        return self._by_id.get(topic_id)

    def names(self) -> list[str]:
        return list(self._by_name)

    def racks(self, name: str) -> list[list[str]]:
        return [[] for _ in range(self._by_name[name].partition_count)]


class World:
    """Carries out what the coordinator wants."""

    def __init__(
        self,
        config: ConsumerGroupConfig = AT_ONCE,
        settings: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.now_ms = 1_000_000
        self.config = config
        self.settings = {} if settings is None else settings
        self.topics = Topics()
        self.log: list[tuple[bytes, bytes | None]] = []
        #: (key, value) of the records that the last event wrote.
        self.written: list[tuple[Any, Any]] = []
        #: The next records cannot be written.
        self.failure: KafkaError | None = None
        self.answers: dict[int, Any] = {}
        #: How many steps the last preparation took.
        self.preparation_steps = 0
        self._codec = GroupRecordCodec()
        self._ids = count(1)
        self._tokens = count(1)
        self.restart()

    def restart(self) -> None:
        self.timers: dict[str, float] = {}
        self.coordinator = GroupCoordinator(
            GroupConfig(initial_rebalance_delay_ms=0), self.topics, self._new_id
        )
        self.consumer_groups = ConsumerGroups(
            self.config,
            lambda group_id: self.settings.get(group_id, {}),
            self.coordinator.groups,
            self.topics,
            self.coordinator.classic,
            2**31 - 1,
            self._new_id,
        )
        self.coordinator.add(self.consumer_groups, GroupType.CONSUMER)
        for key, value in dict(self.log).items():
            decoded = self._codec.decode(key, value)
            assert decoded is not None
            self.coordinator.apply(*decoded, -1)
        self._carry_out(self.coordinator.loaded(self.now_ms))

    def _new_id(self) -> str:
        return f"id-{next(self._ids)}"

    def group(self, group_id: str = "g") -> ConsumerGroup:
        group = self.coordinator.groups.get(group_id)
        assert isinstance(group, ConsumerGroup)
        return group

    def ask(self, request: Any, version: int = 1, client_id: str = "client") -> Any:
        """The answer, or None while it is still to come."""
        return self.answers.get(self.send(request, version, client_id))

    def send(self, request: Any, version: int = 1, client_id: str = "client") -> int:
        token = next(self._tokens)
        client = LocalClient(client_id, version)
        self.written = []
        self._let_happen(lambda: self.coordinator.handle(token, request, client, self.now_ms))
        return token

    def _let_happen(self, event: Callable[[], Outcome[Any, Any]]) -> None:
        outcome = event()
        if outcome.preparation is not None:
            self.preparation_steps = sum(1 for _ in outcome.preparation)
            outcome = event()
            assert outcome.preparation is None
        self._carry_out(outcome)

    def wait(self, ms: int) -> Iterator[str]:
        """Let time pass; yields the name of each timer after it went off."""
        end_ms = self.now_ms + ms
        while self.timers:
            name = min(self.timers, key=lambda one: self.timers[one])
            if self.timers[name] > end_ms:
                break
            self.now_ms = int(max(self.now_ms, self.timers.pop(name)))
            self.written = []
            self._let_happen(lambda: self.coordinator.timer_expired(name, self.now_ms))  # noqa: B023
            yield name
        self.now_ms = end_ms

    def pass_ms(self, ms: int) -> None:
        for _ in self.wait(ms):
            pass

    def topic(self, name: str, partitions: int, topic_id: str = "") -> None:
        self.topics.put(name, partitions, topic_id)
        self._carry_out(self.coordinator.topics_changed({name}, [], self.now_ms))

    def delete_topic(self, name: str) -> None:
        gone = self.topics.remove(name)
        self._carry_out(self.coordinator.topics_changed({name}, [gone], self.now_ms))

    def _carry_out(self, outcome: Outcome[Any, Any]) -> None:
        if outcome.records and self.failure is not None:
            error, self.failure = self.failure, None
            if outcome.if_failed is not None:
                self._carry_out(outcome.if_failed(error, self.now_ms))
            else:
                self.answers.update((token, error) for token, _ in outcome.replies)
            return
        for key, value in outcome.records:
            self.log.append(self._codec.encode(key, value))
        for key_bytes, value_bytes in self.log[len(self.log) - len(outcome.records) :]:
            decoded = self._codec.decode(key_bytes, value_bytes)
            assert decoded is not None
            self.coordinator.apply(*decoded, -1)
            self.written.append(decoded)
        for change in outcome.timers:
            if isinstance(change, CancelTimer):
                self.timers.pop(change.name, None)
            else:
                self.timers[change.name] = change.at_ms
        self.answers.update((token, whole(response)) for token, response in outcome.replies)
