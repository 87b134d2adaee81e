"""What records on access, passwords and tokens do to a delta."""

from typing import Any, Protocol

from headrace.base.checks import InvariantBrokenError
from headrace.metadata import records as r
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.image import AclImage, ScramImage, TokenImage


class Delta(Protocol):
    """The part of `MetadataDelta` that is needed here."""

    changes: MetadataChanges

    def draft(self, name: str) -> Any: ...


def add_acl(delta: Delta, record: r.AccessControlEntryRecord) -> None:
    delta.draft("acls")[record.id] = AclImage(
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission_type,
    )
    delta.changes.acls.add(record.id)


def remove_acl(delta: Delta, record: r.RemoveAccessControlEntryRecord) -> None:
    if delta.draft("acls").pop(record.id, None) is None:
        raise InvariantBrokenError(f"no access control entry for {record!r}")
    delta.changes.acls.add(record.id)


def set_scram(delta: Delta, record: r.UserScramCredentialRecord) -> None:
    key = (record.name, record.mechanism)
    delta.draft("scram")[key] = ScramImage(
        bytes(record.salt), bytes(record.stored_key), bytes(record.server_key), record.iterations
    )
    delta.changes.scram.add(key)


def remove_scram(delta: Delta, record: r.RemoveUserScramCredentialRecord) -> None:
    key = (record.name, record.mechanism)
    delta.draft("scram").pop(key, None)
    delta.changes.scram.add(key)


def set_token(delta: Delta, record: r.DelegationTokenRecord) -> None:
    delta.draft("tokens")[record.token_id] = TokenImage(
        record.owner,
        record.requester,
        tuple(record.renewers),
        record.issue_timestamp,
        record.max_timestamp,
        record.expiration_timestamp,
    )
    delta.changes.tokens.add(record.token_id)


def remove_token(delta: Delta, record: r.RemoveDelegationTokenRecord) -> None:
    delta.draft("tokens").pop(record.token_id, None)
    delta.changes.tokens.add(record.token_id)
