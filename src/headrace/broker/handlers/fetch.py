"""Fetch: serves batches as they lie on disk, and waits for them where there are none yet."""

from __future__ import annotations

from collections.abc import Hashable

from headrace.base.clock import Clock
from headrace.base.errors import KafkaError
from headrace.broker.config import BrokerConfig
from headrace.broker.context import RequestContext
from headrace.broker.fetch_reads import PartitionReader
from headrace.broker.fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, FetchSessions
from headrace.broker.fetching import Fetch
from headrace.broker.known_fetch import WAIT_MAX_MS, KnownFetch
from headrace.broker.known_requests import Learner
from headrace.broker.parked import Parked, Reply, Scheduler
from headrace.broker.wakeups import Wakeups
from headrace.protocol.messages.fetch import FetchRequest

_TOPIC_IDS_SINCE = 13


class FetchHandler(Learner):
    """Serves API key 1."""

    def __init__(
        self,
        reader: PartitionReader,
        sessions: FetchSessions,
        scheduler: Scheduler,
        clock: Clock,
        config: BrokerConfig,
        wakeups: Wakeups,
    ) -> None:
        self.reader = reader
        self.scheduler = scheduler
        self.wakeups = wakeups
        self.bytes_max = config.fetch_bytes_max
        self.sessions = sessions
        self.clock = clock

    def __call__(self, context: RequestContext, request: FetchRequest) -> Reply | Parked:
        uses_ids = context.api_version >= _TOPIC_IDS_SINCE
        session, positions = self.sessions.open(request, uses_ids, self.clock.mono_ms())
        return Fetch(self, context, request, session, positions).answer_or_park()

    # Requests that are repeated

    def subject(self, request: FetchRequest) -> Hashable | None:
        topics = request.topics
        if (
            len(topics) != 1
            or len(topics[0].partitions) != 1
            or request.session_epoch == INITIAL_EPOCH
        ):
            return None
        if request.session_epoch != FINAL_EPOCH:
            session = self.sessions.get(request.session_id)
            if session is None or len(session.positions) != 1:
                return None
        elif request.session_id != NO_SESSION:
            return None  # it ends that session
        return request.session_id, topics[0].partitions[0].partition

    def learn(
        self, context: RequestContext, request: FetchRequest, start: bytes
    ) -> KnownFetch | None:
        topic = request.topics[0]
        name, asked = topic.topic or topic.topic_id, topic.partitions[0]
        session = self.sessions.get(request.session_id)
        if session is not None and list(session.positions) != [(name, asked.partition)]:
            return None
        siblings = self.reader.siblings(name)
        partition = siblings.get(asked.partition)
        is_follower = request.replica_id >= 0 or request.replica_state.replica_id >= 0
        if (
            partition is None
            or is_follower
            or asked.last_fetched_epoch >= 0
            or request.max_wait_ms > WAIT_MAX_MS
            or min(asked.partition_max_bytes, request.max_bytes) <= 0
        ):
            return None
        try:
            partition.require_leader(asked.current_leader_epoch)
        except KafkaError:
            return None
        return KnownFetch(self, context, request, start, session, siblings)
