"""When the epoch of a group rises: members come, go or change, and so do the topics they read."""

from __future__ import annotations

import logging
from collections.abc import Collection

from headrace.groups.call import GroupOutcome
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.group_records import (
    epoch_record,
    partition_metadata_tombstone,
    regex_tombstone,
)
from headrace.groups.consumer.member import Member
from headrace.groups.consumer.metadata_hash import MetadataHashes
from headrace.groups.consumer.subscriptions import ResolvedRegex, Subscriptions
from headrace.groups.consumer.target_assignment import Change

logger = logging.getLogger(__name__)


class GroupEpochs:
    """Writes the record of a group's epoch where it is due."""

    def __init__(self, hashes: MetadataHashes) -> None:
        self._hashes = hashes

    def member_changed(
        self,
        group: ConsumerGroup,
        old: Member,
        new: Member,
        *,
        must_rise: bool,
        now_ms: int,
        outcome: GroupOutcome,
    ) -> Change:
        """The epoch after a heartbeat; it also rises if the topics are not what they were."""
        subscriptions = group.members.subscriptions.with_change(old, new)
        is_new = new.member_id not in group.members and not group.members.static(new.instance_id)
        epoch = group.group_epoch
        must_check = group.must_check_metadata(now_ms)
        if must_rise or must_check:
            metadata_hash = group.metadata_hash
            if (
                must_check
                or subscriptions.topics.keys() != group.members.subscriptions.topics.keys()
            ):
                metadata_hash = self._hashes.of_group(subscriptions.topics)
            if must_rise or metadata_hash != group.metadata_hash:
                epoch += 1
                outcome.records.append(epoch_record(group.group_id, epoch, metadata_hash))
                logger.info("Group %s goes to epoch %d", group.group_id, epoch)
            group.metadata_checked(epoch, now_ms)
            if group.has_partition_metadata_record:
                outcome.records.append(partition_metadata_tombstone(group.group_id))
        return Change(old, new, epoch, subscriptions, len(group.members) + is_new)

    def members_gone(
        self, group: ConsumerGroup, gone: Collection[Member], outcome: GroupOutcome
    ) -> None:
        """The members' own tombstones are written by the caller."""
        before = group.members.subscriptions
        after = before.without(gone)
        outcome.records += [
            regex_tombstone(group.group_id, regex)
            for regex in before.regexes
            if regex not in after.regexes
        ]
        self._raise(group, self._hash(group, after), outcome)

    def regexes_resolved(
        self,
        group: ConsumerGroup,
        resolved: dict[str, ResolvedRegex],
        now_ms: int,
        outcome: GroupOutcome,
    ) -> None:
        """Rises if one of them matches other topics than before."""
        before = group.members.subscriptions
        after = before.copy()
        must_rise = False
        for regex, found in resolved.items():
            known = before.resolved.get(regex)
            must_rise = must_rise or found.topics != (known.topics if known else frozenset())
            after.resolve(regex, found)
        metadata_hash = self._hashes.of_group(after.topics)
        if must_rise or metadata_hash != group.metadata_hash:
            self._raise(group, metadata_hash, outcome)
            group.metadata_checked(group.group_epoch + 1, now_ms)

    def _hash(self, group: ConsumerGroup, after: Subscriptions) -> int:
        """With the same topics it stays; whether they have changed is found out elsewhere."""
        if after.topics.keys() == group.members.subscriptions.topics.keys():
            return group.metadata_hash
        return self._hashes.of_group(after.topics)

    def _raise(self, group: ConsumerGroup, metadata_hash: int, outcome: GroupOutcome) -> None:
        epoch = group.group_epoch + 1
        outcome.records.append(epoch_record(group.group_id, epoch, metadata_hash))
        logger.info("Group %s goes to epoch %d", group.group_id, epoch)
