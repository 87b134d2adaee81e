"""The `quorum-state` file: what a node must never forget about elections.

Kafka keeps it as one line of JSON, version 0 for a fixed voter set and version 1 from
kraft.version 1 on. Both are read; the form that is written follows the kraft.version.
"""

import json
from dataclasses import dataclass

from headrace.base.uuids import ZERO_UUID, format_uuid, parse_uuid

NOBODY = -1


@dataclass(frozen=True, slots=True)
class ElectionState:
    """The newest epoch this node has seen, who leads it, and whom the node voted for in it."""

    epoch: int = 0
    leader_id: int = NOBODY
    voted_id: int = NOBODY
    voted_directory_id: bytes = ZERO_UUID
    #: The fixed voters that version 0 records beside the state.
    voter_ids: tuple[int, ...] = ()


def encode_quorum_state(state: ElectionState, kraft_version: int) -> str:
    """The content of the file, byte for byte as Kafka writes it."""
    fields: dict[str, object]
    if kraft_version == 0:
        fields = {
            "clusterId": "",
            "leaderId": state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": state.voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter_id} for voter_id in state.voter_ids],
            "data_version": 0,
        }
    else:
        fields = {
            "leaderId": state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": state.voted_id,
            "votedDirectoryId": format_uuid(state.voted_directory_id),
            "data_version": 1,
        }
    return json.dumps(fields, separators=(",", ":"))


def decode_quorum_state(text: str) -> ElectionState:
    """Read either version; `ValueError` with a clear sentence for anything else."""
    try:
        fields = json.loads(text)
        version = fields["data_version"]
        if version not in (0, 1):
            raise ValueError(f"quorum-state has the unknown version {version}")
        voters = fields["currentVoters"] if version == 0 else None
        return ElectionState(
            epoch=int(fields["leaderEpoch"]),
            leader_id=int(fields["leaderId"]),
            voted_id=int(fields["votedId"]),
            voted_directory_id=(
                parse_uuid(fields["votedDirectoryId"]) if version == 1 else ZERO_UUID
            ),
            voter_ids=tuple(int(voter["voterId"]) for voter in voters or ()),
        )
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"quorum-state is not what Kafka writes there: {error}") from error
