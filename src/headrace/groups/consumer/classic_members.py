"""Members of the classic protocol in a consumer group: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

For them an epoch is a generation. None of them is ever the leader, so none assigns: the coordinator
gives each its assignment with SyncGroup. A heartbeat tells them when to join again.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.classic.replies import not_joined
from headrace.groups.consumer.config import ConsumerGroupConfig, MigrationPolicy
from headrace.groups.consumer.downgrading import Downgrading
from headrace.groups.consumer.embedded_protocol import (
    owned_partitions,
    read_subscription,
    version_of,
    write_assignment,
)
from headrace.groups.consumer.group import ConsumerGroup
