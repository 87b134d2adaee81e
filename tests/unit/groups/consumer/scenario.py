"""Scenarios of consumer groups: a command a line after `>`, and below it what it brings about.

    > beat member=a epoch=0 topics=t
    + member a topics=t
    + group epoch=2
    a: ok epoch=2 owns t:0,1

`+` is a record that was written, `-` a tombstone.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.config import Bounded, ConsumerGroupConfig, MigrationPolicy
from tests.unit.groups.consumer.scenario_requests import REQUESTS
from tests.unit.groups.consumer.scenario_text import answer_text, record_text
from tests.unit.groups.consumer.world import World
from tests.unit.groups.story_requests import Words


class Scenario:
    """Plays the lines of one file."""

    def __init__(self, converted_at_once_max: int) -> None:
        self._settings: dict[str, dict[str, str]] = {}
        self._converted_at_once_max = converted_at_once_max
        self._world = World(
            ConsumerGroupConfig(converted_at_once_max=converted_at_once_max), self._settings
        )
        self._out: list[str] = []
        self._waiting: dict[int, str] = {}

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

    def _request(self, words: Words) -> None:
        request, version = REQUESTS[words.command](words, self._world.topics)
        name = words.text("as", words.text("member", "") or words.command)
        token = self._world.send(request, version)
        self._waiting[token] = name
        self._print_records()
        self._print_answers()
        if token in self._waiting:
            self._out.append(f"{name} waits")

    def _print_records(self) -> None:
        topics = self._world.topics
        self._out += [record_text(key, value, topics) for key, value in self._world.written]

    def _print_answers(self) -> None:
        for token in [one for one in self._waiting if one in self._world.answers]:
            answer = self._world.answers[token]
            text = answer_text(answer, self._world.topics)
            self._out.append(f"{self._waiting.pop(token)}: {text}")

    # The world around

    def _do_config(self, words: Words) -> None:
        """Only as the first command."""
        policy = MigrationPolicy(words.text("migration", "bidirectional"))
        interval_ms = words.number("assignment-interval", 1_000)
        self._world = World(
            ConsumerGroupConfig(
                members_max=words.number("max-size", 2**31 - 1),
                assignment_interval_ms=Bounded(interval_ms, 0, 15_000),
                migration_policy=policy,
                converted_at_once_max=self._converted_at_once_max,
            ),
            self._settings,
        )

    def _do_group_config(self, words: Words) -> None:
        group_id = words.text("group", "g")
        self._settings.setdefault(group_id, {}).update(
            {name: value for name, value in words.rest().items() if name != "group"}
        )

    def _do_topic(self, words: Words) -> None:
        self._world.topic(words.text("name"), words.number("partitions", 1), words.text("id", ""))

    def _do_delete_topic(self, words: Words) -> None:
        self._world.delete_topic(words.text("name"))

    def _do_wait(self, words: Words) -> None:
        for name in self._world.wait(words.number("ms")):
            self._out.append(f"({name})")
            self._print_records()
            self._print_answers()

    def _do_timers(self, words: Words) -> None:
        for name, at_ms in sorted(self._world.timers.items(), key=lambda one: one[1]):
            self._out.append(f"  {name} in {int(at_ms - self._world.now_ms)} ms")

    def _do_restart(self, words: Words) -> None:
        self._world.restart()

    def _do_fail_write(self, words: Words) -> None:
        self._world.failure = KafkaError(ErrorCode[words.text("error")])


def played(text: str, converted_at_once_max: int = 200) -> str:
    """The text of a scenario with what its commands print now."""
    scenario = Scenario(converted_at_once_max)
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("> "):
            lines.append(line)
            lines += scenario.play(line.removeprefix("> "))
        elif not line or line.startswith("#"):
            lines.append(line)
    return "\n".join(lines) + "\n"
