"""The quorum-state file and the voter records."""

import pytest

from headrace.base.uuids import parse_uuid
from headrace.raft.quorum_state import ElectionState, decode_quorum_state, encode_quorum_state
from headrace.raft.voters import (
    Voter,
    VoterSet,
    decode_kraft_version,
    encode_kraft_version,
)

APACHE_VERSION_0 = (
    '{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,'
    '"currentVoters":[{"voterId":1}],"data_version":0}'
)
APACHE_VERSION_1 = (
    '{"leaderId":1,"leaderEpoch":5,"votedId":2,"votedDirectoryId":"WoOcHuLJNoWzA7R3WMY8kw",'
    '"data_version":1}'
)


def test_version_0_is_byte_for_byte_what_apache_kafka_writes() -> None:
    state = ElectionState(epoch=1, leader_id=1, voter_ids=(1,))
    assert encode_quorum_state(state, kraft_version=0) == APACHE_VERSION_0
    assert decode_quorum_state(APACHE_VERSION_0) == state


def test_version_1_carries_the_directory_that_was_voted_for() -> None:
    state = decode_quorum_state(APACHE_VERSION_1)
    assert state.voted_directory_id == parse_uuid("WoOcHuLJNoWzA7R3WMY8kw")
    assert encode_quorum_state(state, kraft_version=1) == APACHE_VERSION_1


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"data_version":7}', '{"data_version":0}']
)
def test_anything_else_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="quorum-state"):
        decode_quorum_state(text)


def test_voters_survive_their_control_record() -> None:
    voters = VoterSet.of(
        [
            Voter(2, bytes(range(16)), (("CONTROLLER", "b", 9093),)),
            Voter(1, bytes(16), (("CONTROLLER", "a", 9093),)),
        ]
    )
    assert VoterSet.decode(voters.encode()) == voters
    assert voters.ids == (1, 2)
    assert voters.majority == 2


def test_the_kraft_version_survives_its_control_record() -> None:
    assert decode_kraft_version(encode_kraft_version(1)) == 1
