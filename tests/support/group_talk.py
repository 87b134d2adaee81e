"""Groups over the wire as text: a command a line after `>`, and below it what was answered.

Commands and answers are those of `tests/unit/groups/story_requests` and `story_text`. A command
that ends with `&` is sent and not waited for; `take NAME` waits for its answer. Every name speaks
through a connection of its own. Member ids are known by their order of appearance: `alice-1`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

from headrace.base.errors import ErrorCode
from headrace.groups.inventory import DeleteGroups, DescribeGroups, ListGroups
from headrace.groups.offset_reads import FetchOffsets
from headrace.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.protocol.messages.delete_groups import DeleteGroupsRequest
from headrace.protocol.messages.describe_groups import DescribeGroupsRequest
from headrace.protocol.messages.find_coordinator import FindCoordinatorRequest
from headrace.protocol.messages.heartbeat import HeartbeatRequest
from headrace.protocol.messages.list_groups import ListGroupsRequest
from headrace.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.protocol.messages.offset_fetch import OffsetFetchRequest
from headrace.protocol.schema import Request
from tests.unit.groups.story import Topics
from tests.unit.groups.story_requests import REQUESTS, Words
from tests.unit.groups.story_text import reply_text

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


class Line(Protocol):
    """A connection of one client."""

    def send(self, request: Request, version: int) -> None: ...

    def take(self) -> Any: ...


class GroupTalk:
    """Plays scenarios; `open_line` makes the connection of a client with that name."""

    def __init__(
        self,
        open_line: Callable[[str], Line],
        prefix: str,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        """`settle` gives a request that is not waited for the time to arrive."""
        self._settle = settle
        self._open_line = open_line
        self._prefix = prefix
        self._lines: dict[str, Line] = {}
        self._sent: dict[str, type[Any]] = {}
        self._ids: dict[str, str] = {}

    def play(self, text: str) -> str:
        """The scenario with the answers of now."""
        self._wait_for_coordinator()
        told: list[str] = []
        for line in text.splitlines():
            if line.startswith("> "):
                told.append(line)
                told += self._command(line.removeprefix("> "))
            elif not line or line.startswith("#"):
                told.append(line)
        return "\n".join(told) + "\n"

    def _wait_for_coordinator(self) -> None:
        group_id = f"{self._prefix}g"
        while True:
            self._call("first", FindCoordinatorRequest(coordinator_keys=[group_id]), 6)
            beat = HeartbeatRequest(group_id=group_id, member_id="nobody")
            if self._call("first", beat, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                return

    def _call(self, name: str, request: Request, version: int) -> Any:
        line = self._line(name)
        line.send(request, version)
        return line.take()

    def _line(self, name: str) -> Line:
        if name not in self._lines:
            self._lines[name] = self._open_line(name)
        return self._lines[name]

    def _command(self, text: str) -> list[str]:
        if text.startswith("take "):
            return [self._take(text.removeprefix("take "))]
        is_left = text.endswith(" &")
        words = Words.parse(self._real_ids(text.removesuffix(" &")))
        if words.command == "topic":
            self._create_topic(words)
            return []
        made, version = REQUESTS[words.command](words, Topics())
        name = words.text("as", words.text("client", words.command))
        words.check_all_used()
        self._sent[name] = type(made)
        self._line(words.text("client", name)).send(self._wire(made), version)
        self._lines[name] = self._line(words.text("client", name))
        if not is_left:
            return [self._take(name)]
        self._settle()
        return []

    def _take(self, name: str) -> str:
        reply = self._lines[name].take()
        kind = self._sent[name]
        if kind is FetchOffsets:
            (reply,) = reply.groups
        elif kind in (DescribeGroups, ListGroups):
            reply = [one for one in reply.groups if one.group_id.startswith(self._prefix)]
        elif kind is DeleteGroups:
            reply = reply.results
        return self._short_ids(f"{name}: {reply_text(reply)}")

    def _create_topic(self, words: Words) -> None:
        name, partitions = words.text("name"), words.number("partitions", 1)
        topic = CreatableTopic(
            name=self._prefix + name, num_partitions=partitions, replication_factor=1
        )
        self._call("first", CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)])
        while self._call("first", asked, 12).topics[0].error_code:
            pass

    def _wire(self, made: Any) -> Request:
        """The request with the names of this run."""
        prefix = self._prefix
        if isinstance(made, FetchOffsets):
            _prefix_topics(made.group.topics or (), prefix)
            if made.group_id:
                made.group.group_id = prefix + made.group_id
            return OffsetFetchRequest(groups=[made.group], require_stable=made.require_stable)
        if isinstance(made, ListGroups):
            return ListGroupsRequest(states_filter=[*made.states], types_filter=[*made.types])
        if isinstance(made, DescribeGroups):
            return DescribeGroupsRequest(groups=[prefix + one for one in made.group_ids])
        if isinstance(made, DeleteGroups):
            return DeleteGroupsRequest(groups_names=[prefix + one for one in made.group_ids])
        request: Any = made
        if request.group_id:
            request.group_id = prefix + request.group_id
        _prefix_topics(getattr(request, "topics", ()), prefix)
        return made  # type: ignore[no-any-return]

    def _real_ids(self, text: str) -> str:
        for short, real in self._ids.items():
            text = re.sub(rf"(?<![\w-]){re.escape(short)}(?!\w)", real, text)
        return text

    def _short_ids(self, text: str) -> str:
        text = text.replace(self._prefix, "")
        for found in re.finditer(rf"([\w]+)-{_UUID}", text):
            if found[0] not in self._ids.values():
                self._ids[f"{found[1]}-{len(self._ids) + 1}"] = found[0]
        for short, real in self._ids.items():
            text = text.replace(real, short)
        return text


def _prefix_topics(topics: Any, prefix: str) -> None:
    for topic in topics:
        topic.name = prefix + topic.name
