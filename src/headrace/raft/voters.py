"""Who votes: the voter set of a quorum, and its two forms.

With kraft.version 0 the voters are fixed in `controller.quorum.voters`; from kraft.version 1 on
they are records of the log itself (KIP-853), and each voter is known by its directory too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headrace.base.uuids import ZERO_UUID
from headrace.protocol import compiler
from headrace.protocol.embedded import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    VotersRecord,
    VotersVoter,
)
from headrace.protocol.embedded import Voter as LeaderChangeVoter


@dataclass(frozen=True, slots=True)
class Voter:
    """One voter: its id, its metadata directory if known, and where it listens."""

    voter_id: int
    directory_id: bytes = ZERO_UUID
    #: (listener, host, port)
    endpoints: tuple[tuple[str, str, int], ...] = ()
    kraft_version_min: int = 0
    kraft_version_max: int = 1


@dataclass(frozen=True, slots=True)
class VoterSet:
    """The voters of a quorum by id."""

    voters: tuple[Voter, ...]

    @classmethod
    def of(cls, voters: Iterable[Voter]) -> "VoterSet":
        return cls(tuple(sorted(voters, key=lambda voter: voter.voter_id)))

    @classmethod
    def decode(cls, value: bytes) -> "VoterSet":
        """Read the value of a KRAFT_VOTERS control record."""
        record = compiler.read(VotersRecord, 0, value)[0]
        return cls.of(
            Voter(
                voter.voter_id,
                voter.voter_directory_id,
                tuple((end.name, end.host, end.port) for end in voter.endpoints),
                voter.k_raft_version_feature.min_supported_version,
                voter.k_raft_version_feature.max_supported_version,
            )
            for voter in record.voters
        )

    def encode(self) -> bytes:
        """The value of a KRAFT_VOTERS control record."""
        record = VotersRecord(
            voters=[
                VotersVoter(
                    voter_id=voter.voter_id,
                    voter_directory_id=voter.directory_id,
                    endpoints=[
                        Endpoint(name=name, host=host, port=port)
                        for name, host, port in voter.endpoints
                    ],
                    k_raft_version_feature=KRaftVersionFeature(
                        min_supported_version=voter.kraft_version_min,
                        max_supported_version=voter.kraft_version_max,
                    ),
                )
                for voter in self.voters
            ]
        )
        return compiler.encode(record, 0)

    def __iter__(self) -> Iterator[Voter]:
        return iter(self.voters)

    def __len__(self) -> int:
        return len(self.voters)

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(voter.voter_id for voter in self.voters)

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1


def decode_kraft_version(value: bytes) -> int:
    """The level in a KRAFT_VERSION control record."""
    return compiler.read(KRaftVersionRecord, 0, value)[0].k_raft_version


def encode_kraft_version(level: int) -> bytes:
    return compiler.encode(KRaftVersionRecord(k_raft_version=level), 0)


def encode_leader_change(leader_id: int, voters: VoterSet, granting: Iterable[int]) -> bytes:
    """The control record with which each leader opens its epoch (version 0, as Kafka writes it)."""
    everybody = [LeaderChangeVoter(voter_id=voter.voter_id) for voter in voters]
    granted = set(granting)
    message = LeaderChangeMessage(
        leader_id=leader_id,
        voters=everybody,
        granting_voters=[voter for voter in everybody if voter.voter_id in granted],
    )
    return compiler.encode(message, 0)
