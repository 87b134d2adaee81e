"""The rows of the API table that groups need."""

from __future__ import annotations

from headrace.broker.api_table import Access, Handler, on_each
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.coordination.groups import Groups
from headrace.broker.handlers.consumer_group_describe import ConsumerGroupDescribeHandler
from headrace.broker.handlers.consumer_group_heartbeat import ConsumerGroupHeartbeatHandler
from headrace.broker.handlers.delete_groups import DeleteGroupsHandler
from headrace.broker.handlers.describe_groups import DescribeGroupsHandler
from headrace.broker.handlers.heartbeat import HeartbeatHandler
from headrace.broker.handlers.join_group import JoinGroupHandler
from headrace.broker.handlers.leave_group import LeaveGroupHandler
from headrace.broker.handlers.list_groups import ListGroupsHandler
from headrace.broker.handlers.offset_commit import OffsetCommitHandler
from headrace.broker.handlers.offset_delete import OffsetDeleteHandler
from headrace.broker.handlers.offset_fetch import OffsetFetchHandler
from headrace.broker.handlers.sync_group import SyncGroupHandler
from headrace.protocol.apis import ApiKey


def group_rows(groups: Groups, cluster: ClusterView) -> list[tuple[ApiKey, Access, Handler]]:
    read = on_each(Operation.READ, ResourceType.GROUP)
    describe = on_each(Operation.DESCRIBE, ResourceType.GROUP)
    delete = on_each(Operation.DELETE, ResourceType.GROUP)
    return [
        (ApiKey.JOIN_GROUP, read, JoinGroupHandler(groups)),
        (ApiKey.SYNC_GROUP, read, SyncGroupHandler(groups)),
        (ApiKey.HEARTBEAT, read, HeartbeatHandler(groups)),
        (ApiKey.LEAVE_GROUP, read, LeaveGroupHandler(groups)),
        (ApiKey.OFFSET_COMMIT, read, OffsetCommitHandler(groups, cluster)),
        (ApiKey.OFFSET_FETCH, describe, OffsetFetchHandler(groups, cluster)),
        (ApiKey.OFFSET_DELETE, delete, OffsetDeleteHandler(groups, cluster)),
        (ApiKey.LIST_GROUPS, describe, ListGroupsHandler(groups)),
        (ApiKey.DESCRIBE_GROUPS, describe, DescribeGroupsHandler(groups)),
        (ApiKey.DELETE_GROUPS, delete, DeleteGroupsHandler(groups)),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, read, ConsumerGroupHeartbeatHandler(groups, cluster)),
        (ApiKey.CONSUMER_GROUP_DESCRIBE, describe, ConsumerGroupDescribeHandler(groups, cluster)),
    ]
