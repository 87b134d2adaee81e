"""Drives the state machine of a member from a thread of its own, with connections of its own.

So heartbeats go on while the application works on its records, and a join that takes a minute
holds up no fetch. The application's thread calls `poll` and does what it returns.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Mapping

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.connection import BlockingConnection
from headrace.client.errors import ConnectionFailedError
from headrace.client.groups import find_coordinators
from headrace.client.groups_offsets import Membership
from headrace.client.membership.classic import ClassicMember
from headrace.client.membership.config import CONSUMER, MemberConfig
from headrace.client.membership.consumer import ConsumerMember
from headrace.client.membership.machine import RETRIED_BY_DRIVER, Change, MemberMachine
from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.schema import Request, Response

_CLOSE_SECONDS_MAX = 5.0


def new_machine(config: MemberConfig) -> MemberMachine:
    """The machine of the protocol that the settings ask for."""
    if config.group_protocol == CONSUMER:
        return ConsumerMember(config, str(uuid.uuid4()))
    return ClassicMember(config)


class GroupMember:
    """One member of a group; begins when it is first told what to read."""

    def __init__(
        self,
        client_config: ClientConfig,
        config: MemberConfig,
        now_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
    ) -> None:
        self._group = config.group_id
        self._client = KafkaClient(client_config)
        self._machine = new_machine(config)
        self._now_ms = now_ms
        #: Guards the machine; told of every step on either side.
        self._moved = threading.Condition()
        self._thread: threading.Thread | None = None
        self._coordinator: BlockingConnection | None = None
        self._is_closing = False

    # ---------------------------------------------------------------- the application's side

    @property
    def membership(self) -> Membership:
        with self._moved:
            return self._machine.membership

    def subscribe(self, topics: Mapping[str, int]) -> None:
        """The topics to read, with their partition counts; again whenever they change."""
        with self._moved:
            self._machine.polled(self._now_ms())
            self._machine.subscribe(topics)
            self._moved.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name=f"member of {self._group}", daemon=True
            )
            self._thread.start()

    def poll(self, wait_ms: float = 0) -> Change | None:
        """What to do with the partitions, if anything; waits so long for it to come up."""
        with self._moved:
            machine = self._machine
            machine.polled(self._now_ms())
            self._moved.notify_all()
            self._moved.wait_for(lambda: machine.pending or machine.failure, wait_ms / 1000)
            if machine.failure is not None:
                raise machine.failure
            return machine.pending

    def carried_out(self, change: Change) -> None:
        """What `poll` returned is done."""
        with self._moved:
            self._machine.carried_out(change)
            self._moved.notify_all()

    def lost(self) -> None:
        """A commit found out that the group has dropped this member."""
        with self._moved:
            self._machine.lost()
            self._moved.notify_all()

    def close(self) -> None:
        """Leave the group; a join that is under way is given up."""
        with self._moved:
            self._is_closing = True
            self._moved.notify_all()
            if self._coordinator is not None:
                self._coordinator.interrupt()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS_MAX)
        self._client.close()

    # ---------------------------------------------------------------- the thread

    def _run(self) -> None:
        try:
            while not self._is_closing:
                self._step()
        except Exception as error:  # noqa: BLE001 - the edge: told to whoever polls
            with self._moved:
                self._machine.failure = _as_kafka_error(error)
                self._moved.notify_all()
        with contextlib.suppress(KafkaError):  # the session will time out instead
            self._leave()

    def _step(self) -> None:
        with self._moved:
            if self._is_closing:
                return
            now_ms = self._now_ms()
            failed = self._machine.failure is not None
            request = None if failed else self._machine.next_request(now_ms)
            self._moved.notify_all()
            if request is None:
                self._moved.wait(self._machine.wait_ms(now_ms) / 1000)
                return
        answer = self._ask(request)
        with self._moved:
            if answer is None:
                self._machine.not_answered()
                self._moved.wait(self._client.config.retry_backoff_ms / 1000)
            else:
                self._machine.answered(answer, self._now_ms())
                self._moved.notify_all()

    def _ask(self, request: Request) -> Response | None:
        """The coordinator's answer; None where the same has to be asked again."""
        try:
            node = self._connect()
            _, kind = message_classes(ApiKey(request.api_key))
            timeout_ms = self._machine.answer_timeout_ms(request)
            answer = node.call(request, kind, timeout_ms=timeout_ms)
        except ConnectionFailedError:
            if self._is_closing:
                return None
            self._forget_coordinator()
            self._client.refresh()  # a dead cluster raises here
            return None
        if getattr(answer, "error_code", 0) in RETRIED_BY_DRIVER:
            self._forget_coordinator()
            return None
        return answer

    def _connect(self) -> BlockingConnection:
        if self._coordinator is None:
            node_id = find_coordinators(self._client, [self._group])[self._group]
            connection = self._client.node(node_id)
            with self._moved:
                self._coordinator = connection
        return self._coordinator

    def _forget_coordinator(self) -> None:
        with self._moved:
            self._coordinator = None
        self._client.close()

    def _leave(self) -> None:
        request = self._machine.leave_request()
        if request is None or self._machine.failure is not None:
            return
        self._forget_coordinator()
        _, kind = message_classes(ApiKey(request.api_key))
        self._connect().call(request, kind)


def _as_kafka_error(error: Exception) -> KafkaError:
    if isinstance(error, KafkaError):
        return error
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"The group's member failed: {error!r}")
