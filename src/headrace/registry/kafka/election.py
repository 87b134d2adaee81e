"""Electing the leader among registries: membership in a Kafka group of the type `sr`.

The group's own leader computes who leads the registries, and every member gets the same answer.
A registry leads for as long as its heartbeats are answered; one that cannot reach the group any
more stops to lead before the group gives its place away.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.connection import BlockingConnection
from headrace.client.errors import raise_for_code
from headrace.client.groups import find_coordinators
from headrace.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from headrace.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from headrace.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from headrace.registry.kafka.identity import (
    DUPLICATE_URLS,
    PROTOCOL,
    PROTOCOL_TYPE,
    Identity,
    elect,
    read_assignment,
    read_identity,
    write_identity,
)

logger = logging.getLogger(__name__)

_RETRY_S = 0.2
#: After these the member is in the group no more and joins as a new one.
_LOST = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID)
_AGAIN = (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.MEMBER_ID_REQUIRED, *_LOST)


@dataclass(frozen=True, slots=True)
class ElectionConfig:
    """The names are those of Confluent's settings."""

    group_id: str = "schema-registry"
    session_timeout_ms: int = 10_000
    heartbeat_interval_ms: int = 3_000
    rebalance_timeout_ms: int = 300_000
    sticky: bool = True


#: Gets the leader, None while there is none known. Called from the election's thread.
Elected = Callable[[Identity | None], None]


class Election:
    """One member of the group, in a thread of its own."""

    def __init__(
        self, client: ClientConfig, config: ElectionConfig, me: Identity, elected: Elected
    ) -> None:
        self._client = KafkaClient(client)
        self._config = config
        self._me = me
        self._elected = elected
        self._member_id = ""
        self._generation = -1
        self._joined: BlockingConnection | None = None
        self._confirmed_at = -math.inf
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="schemas-election", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Leave the group, so that another one leads at once."""
        self._stopping.set()
        connection = self._joined
        if connection is not None and self._generation < 0:
            connection.interrupt()
        self._thread.join()

    @property
    def is_confirmed(self) -> bool:
        """Whether the group counted this member lately; read from any thread."""
        limit = self._config.session_timeout_ms / 1000
        return time.monotonic() - self._confirmed_at < limit

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._step()
            self._leave()
        finally:
            self._client.close()

    def _step(self) -> None:
        try:
            node = self._coordinator()
            if self._generation < 0:
                self._join(node)
            else:
                self._beat(node)
            self._stopping.wait(self._config.heartbeat_interval_ms / 1000)
        except KafkaError as error:
            self._failed(error)
        except Exception as error:  # the edge of the thread: a member whose word is no JSON, say
            logger.exception("the election of a leader failed")
            self._failed(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)))

    def _failed(self, error: KafkaError) -> None:
        if error.code in _LOST:
            self._member_id = ""
        if error.code in _AGAIN:
            self._generation = -1
            return
        logger.warning("the group of registries cannot be reached: %s", error)
        self._client.close()
        self._joined = None
        if not self.is_confirmed:
            self._generation = -1
            self._tell(None)
        self._stopping.wait(_RETRY_S)

    def _coordinator(self) -> BlockingConnection:
        if self._joined is None:
            group = self._config.group_id
            found = find_coordinators(self._client, [group])
            self._joined = self._client.node(found[group])
        return self._joined

    def _join(self, node: BlockingConnection) -> None:
        config = self._config
        asked_at = time.monotonic()
        request = JoinGroupRequest(
            group_id=config.group_id,
            session_timeout_ms=config.session_timeout_ms,
            rebalance_timeout_ms=config.rebalance_timeout_ms,
            member_id=self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=PROTOCOL, metadata=write_identity(self._me))],
        )
        wait_ms = config.rebalance_timeout_ms + config.session_timeout_ms
        joined = node.call(request, JoinGroupResponse, timeout_ms=wait_ms)
        if joined.member_id:
            self._member_id = joined.member_id
        raise_for_code(joined.error_code)
        answer = node.call(self._sync_request(joined), SyncGroupResponse, timeout_ms=wait_ms)
        raise_for_code(answer.error_code)
        self._generation = joined.generation_id
        self._confirmed_at = max(asked_at, time.monotonic() - config.session_timeout_ms / 2000)
        self._take(bytes(answer.assignment))

    def _sync_request(self, joined: JoinGroupResponse) -> SyncGroupRequest:
        assignments = []
        if joined.leader == joined.member_id:
            members = {one.member_id: read_identity(bytes(one.metadata)) for one in joined.members}
            data = elect(members, sticky=self._config.sticky)
            assignments = [
                SyncGroupRequestAssignment(member_id=member, assignment=data) for member in members
            ]
        return SyncGroupRequest(
            group_id=self._config.group_id,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
            assignments=assignments,
        )

    def _take(self, data: bytes) -> None:
        assignment = read_assignment(data)
        if assignment.error == DUPLICATE_URLS:
            logger.error(
                "two registries say that they are %s: set host.name to what each is reached by",
                self._me.url,
            )
            self._tell(None)
            return
        leader = assignment.leader
        self._me = replace(self._me, is_leader=leader is not None and leader.url == self._me.url)
        self._tell(leader)

    def _beat(self, node: BlockingConnection) -> None:
        asked_at = time.monotonic()
        answer = node.call(
            HeartbeatRequest(
                group_id=self._config.group_id,
                generation_id=self._generation,
                member_id=self._member_id,
            ),
            HeartbeatResponse,
            timeout_ms=self._config.session_timeout_ms,
        )
        if answer.error_code in (
            ErrorCode.NOT_COORDINATOR,
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ):
            self._joined = None
        raise_for_code(answer.error_code)
        self._confirmed_at = asked_at

    def _leave(self) -> None:
        if not self._member_id:
            return
        request = LeaveGroupRequest(
            group_id=self._config.group_id,
            member_id=self._member_id,
            members=[MemberIdentity(member_id=self._member_id)],
        )
        try:
            self._coordinator().call(request, LeaveGroupResponse, timeout_ms=2_000)
        except KafkaError as error:
            logger.info("the group of registries was left without a word: %s", error)

    def _tell(self, leader: Identity | None) -> None:
        if not self._stopping.is_set():
            self._elected(leader)
