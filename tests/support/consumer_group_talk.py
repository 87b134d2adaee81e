"""Scenarios of consumer groups over the wire, to be compared with what our coordinator does.

The scenarios are those of `tests/unit/groups/consumer/scenarios`. Topics and groups get names of
their own in each run; ids that a node draws are told apart by where they first appear.
"""

from __future__ import annotations

import re
from select import select
from time import monotonic, sleep
from typing import Any, Self

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from headrace.base.errors import ErrorCode
from headrace.client.config import ClientConfig
from headrace.client.connection import BlockingConnection
from headrace.groups.consumer.describing import DescribeConsumerGroups
from headrace.groups.inventory import DeleteGroups, DescribeGroups, ListGroups
from headrace.groups.offset_reads import FetchOffsets
from headrace.groups.record_codec import GroupRecordCodec
from headrace.groups.topics import TopicView
from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from headrace.protocol.messages.delete_groups import DeleteGroupsRequest
from headrace.protocol.messages.describe_groups import DescribeGroupsRequest
from headrace.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from headrace.protocol.messages.list_groups import ListGroupsRequest
from headrace.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from headrace.protocol.messages.offset_fetch import OffsetFetchRequest
from headrace.protocol.schema import Request
from tests.support.node import Node
from tests.support.reading import read_topic
from tests.unit.groups.consumer.scenario_requests import REQUESTS
from tests.unit.groups.consumer.scenario_text import answer_text, record_text
from tests.unit.groups.consumer.world import Topics
from tests.unit.groups.story_requests import Words

#: How long an answer may take before it counts as one that waits for others.
_AT_ONCE_S = 1.0
_PATIENCE_S = 30.0
#: A coordinator hears of a topic a moment after the rest of its node.
_UNTIL_HEARD_S = 0.5
_NOT_READY = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}
#: Errors whose sentence travels over the wire.
_WITH_SENTENCE = ("beat", "describe")


class Talk:
    """One scenario, played against one node."""

    def __init__(self, node: Node, name: str) -> None:
        self.answers: list[str] = []
        self._node = node
        self._prefix = f"{name}-"
        self._group = f"group-{name}"
        self._topics = Topics()
        self._admin = AdminClient({"bootstrap.servers": node.bootstrap})
        self._connections: dict[str, BlockingConnection] = {}
        self._waiting: dict[str, type[Any]] = {}
        #: Ids that the node drew, and what the scenario calls them.
        self._ids: dict[str, str] = {}
        #: Names of topics that are deleted, for records that still speak of them.
        self._names: dict[bytes, str] = {}

    def play(self, text: str) -> None:
        expected = [line for line in text.splitlines() if not line.startswith("#")]
        for position, line in enumerate(expected):
            if line.startswith("> "):
                said = next((one for one in expected[position + 1 :] if " member=" in one), "")
                self._run(Words.parse(line.removeprefix("> ")), said)

    def __enter__(self) -> Self:
        self._find_coordinator()
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()

    def hang_up(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def move_to(self, node: Node) -> None:
        """Go on with another node, on the same data directory."""
        self.hang_up()
        self._node = node
        self._admin = AdminClient({"bootstrap.servers": node.bootstrap})
        self._find_coordinator()

    def records(self) -> list[str]:
        """All records of the group in the order in which they were written."""
        codec = GroupRecordCodec()
        lines = []
        for topic_id, name in self._names.items():
            self._topics.add(TopicView(name, topic_id, 0))
        for record in read_topic(self._node, "__consumer_offsets"):
            decoded = codec.decode(record.key or b"", record.value)
            if decoded is None:
                continue
            key, value = decoded
            if getattr(key, "group_id", None) == self._group or (
                getattr(key, "group", None) == self._group
            ):
                lines.append(self._plain(record_text(key, value, self._topics)))
        return lines

    # Commands

    def _run(self, words: Words, said: str) -> None:
        if words.command == "topic":
            self._make_topic(words.text("name"), words.number("partitions", 1))
        elif words.command == "delete-topic":
            self._delete_topic(words.text("name"))
        elif words.command == "wait":
            sleep(words.number("ms") / 1000 + 0.3)
        elif words.command in REQUESTS:
            self._request(words, said)
        elif words.command != "config":
            raise AssertionError(f"{words.command} cannot be done over the wire")

    def _request(self, words: Words, said: str) -> None:
        name = words.text("as", words.text("member", "") or words.command)
        words.pairs = {key: self._real(value) for key, value in words.pairs.items()}
        words.pairs.setdefault("group", self._group)
        if words.command in ("join", "sync"):
            self._name_topics(words.pairs)
        words.pairs.setdefault("groups", self._group)
        request, version = REQUESTS[words.command](words, self._topics)
        request = self._on_the_wire(request)
        connection = self._connection(name)
        connection.post(request, version=version)
        self._waiting[name] = message_classes(ApiKey(type(request).api_key))[1]
        own = self._take(name, words.command, said)
        for other in [one for one in self._waiting if one != name]:
            self.answers += self._take(other, "join", said)
        self.answers += own

    def _take(self, name: str, command: str, said: str) -> list[str]:
        """What was answered, or nothing if it waits for others."""
        connection = self._connections[name]
        if not select([connection], [], [], _AT_ONCE_S)[0]:
            return []
        answer = connection.take(self._waiting.pop(name))
        self._learn(answer, said)
        return [f"{name}: {self._answer_text(answer, command)}"]

    def _answer_text(self, answer: Any, command: str) -> str:
        code = getattr(answer, "error_code", 0)
        if command == "commit":
            codes = {one.error_code for topic in answer.topics for one in topic.partitions}
            code = codes.pop() if len(codes) == 1 else 0
        elif command == "fetch":
            (answer,) = answer.groups
            code = answer.error_code
        elif command in ("describe", "describe-classic"):
            answer = answer.groups
        elif command == "list":
            answer = [one for one in answer.groups if one.group_id == self._group]
        elif command == "delete":
            answer = answer.results
        if code:
            sentence = getattr(answer, "error_message", None) or ""
            return self._plain(f"{ErrorCode(code).name} {sentence}".rstrip())
        return self._plain(answer_text(answer, self._topics))

    def _on_the_wire(self, request: Any) -> Request:
        if isinstance(request, DescribeConsumerGroups):
            return ConsumerGroupDescribeRequest(group_ids=request.group_ids)
        if isinstance(request, DescribeGroups):
            return DescribeGroupsRequest(groups=request.group_ids)
        if isinstance(request, DeleteGroups):
            return DeleteGroupsRequest(groups_names=request.group_ids)
        if isinstance(request, ListGroups):
            return ListGroupsRequest(types_filter=sorted(request.types))
        if isinstance(request, FetchOffsets):
            return OffsetFetchRequest(groups=[request.group])
        for topic in getattr(request, "topics", ()):
            topic.name = self._prefix + topic.name
        names = getattr(request, "subscribed_topic_names", None)
        if names:
            request.subscribed_topic_names = [self._prefix + one for one in names]
        assert isinstance(request, Request)
        return request

    # Names

    def _learn(self, answer: Any, said: str) -> None:
        drawn = getattr(answer, "member_id", None)
        called = re.search(r"member=(\S+)", said)
        if drawn and called and drawn not in self._ids and len(drawn) > 20:
            self._ids[drawn] = called.group(1)

    def _real(self, text: str) -> str:
        for drawn, called in self._ids.items():
            text = text.replace(called, drawn)
        return text

    def _name_topics(self, pairs: dict[str, str]) -> None:
        """Classic members name topics inside of bytes that are the clients' business."""
        names = pairs.get("topics", "t").split(",")
        pairs["topics"] = ",".join(self._prefix + name for name in names)
        for key in ("owns", "assign"):
            if key in pairs:
                pairs[key] = re.sub(r"(\w+):", rf"{self._prefix}\1:", pairs[key])

    def _plain(self, text: str) -> str:
        for drawn, called in self._ids.items():
            text = text.replace(drawn, called)
        return comparable(text.replace(self._prefix, "").replace(self._group, "g"))

    def _make_topic(self, name: str, partitions: int) -> None:
        real = self._prefix + name
        if self._topics.named(name) is None:
            futures = self._admin.create_topics([NewTopic(real, partitions, 1)])
        else:
            futures = self._admin.create_partitions([NewPartitions(real, partitions)])
        futures[real].result(_PATIENCE_S)
        request = MetadataRequest(topics=[MetadataRequestTopic(name=real)])
        deadline = monotonic() + _PATIENCE_S
        while True:
            (topic,) = self._connection("admin").call(request, MetadataResponse).topics
            if len(topic.partitions) == partitions:
                break
            assert monotonic() < deadline, topic
            sleep(0.1)
        sleep(_UNTIL_HEARD_S)
        self._topics.add(TopicView(name, topic.topic_id, partitions))

    def _delete_topic(self, name: str) -> None:
        real = self._prefix + name
        self._admin.delete_topics([real])[real].result(_PATIENCE_S)
        sleep(_UNTIL_HEARD_S)
        gone = self._topics.remove(name)
        self._names[gone.topic_id] = name

    def _connection(self, name: str) -> BlockingConnection:
        connection = self._connections.get(name)
        if connection is None:
            config = ClientConfig(bootstrap=(("127.0.0.1", self._node.port),), client_id="client")
            connection = BlockingConnection(config.bootstrap[0], config)
            self._connections[name] = connection
        return connection

    def _find_coordinator(self) -> None:
        """Wait until it answers: its topic is made with the first question, and then loaded."""
        find = FindCoordinatorRequest(coordinator_keys=[self._group])
        describe = ConsumerGroupDescribeRequest(group_ids=[self._group])
        deadline = monotonic() + _PATIENCE_S
        while True:
            connection = self._connection("admin")
            (found,) = connection.call(find, FindCoordinatorResponse).coordinators
            (group,) = connection.call(describe, ConsumerGroupDescribeResponse).groups
            if not found.error_code and group.error_code not in _NOT_READY:
                return
            assert monotonic() < deadline, (found, group)
            sleep(0.1)


def comparable(line: str) -> str:
    """A line as every node would say it.

    Members in brackets come in the order of their names: ids that a node drew have none. When to
    come next is left out: while a rebalance is under way we ask members to come sooner than Apache
    Kafka does (deviation 11 of docs/GAPS.md).
    """
    head, bracket, rest = re.sub(r" next in \d+ ms$", "", line).partition("[")
    return head + " ".join(sorted(re.findall(r"\[[^]]*\]", bracket + rest)))


def told(text: str) -> tuple[list[str], list[str]]:
    """Answers and records of a scenario as they can be seen over the wire."""
    answers, records = [], []
    command = ""
    for line in text.splitlines():
        if line.startswith("> "):
            command = line.split()[1]
        elif line.startswith(("+ ", "- ")):
            # A scenario knows only the ids of topics that still exist.
            records.append(comparable(line.replace(" ?:", " t:")))
        elif line and not line.startswith(("#", "(")) and not line.endswith(" waits"):
            error = re.fullmatch(r"(\S+: [A-Z_]{6,})( .*)?", line)
            is_bare = command not in _WITH_SENTENCE or " member=" in line
            answers.append(error.group(1) if error is not None and is_bare else comparable(line))
    return answers, records
