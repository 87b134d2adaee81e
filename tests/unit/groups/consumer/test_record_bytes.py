"""Records of consumer groups as bytes: what Kafka's own classes make of the same values."""

from headrace.groups.consumer.group_records import (
    assignment_epoch_record,
    epoch_record,
    regex_record,
)
from headrace.groups.consumer.member import Member, MemberState
from headrace.groups.consumer.member_records import (
    current_assignment_record,
    subscription_record,
    target_assignment_record,
    with_current_assignment,
    with_subscription,
)
from headrace.groups.consumer.subscriptions import ResolvedRegex
from headrace.groups.group import KeyValue
from headrace.groups.record_codec import GroupRecordCodec
from headrace.groups.records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    TopicPartitions,
)

TOPIC = (1).to_bytes(8, "big") + (2).to_bytes(8, "big")
MEMBER = Member(
    "m",
    client_id="c",
    client_host="/h",
    subscribed_topic_names=frozenset({"t"}),
    rebalance_timeout_ms=5,
    member_epoch=3,
    previous_member_epoch=2,
    state=MemberState.UNREVOKED_PARTITIONS,
    assigned={TOPIC: {0: 3, 1: 2}},
)
CLASSIC = MEMBER.but(
    classic=ClassicMemberMetadata(
        session_timeout_ms=7, supported_protocols=[ClassicProtocol(name="range", metadata=b"\1\2")]
    )
)


def value_bytes(record: KeyValue) -> str:
    _, value = GroupRecordCodec().encode(*record)
    assert value is not None
    return value.hex()


def test_a_member_that_is_not_classic_says_so_aloud() -> None:
    """Kafka takes a missing field for a classic member without protocols."""
    expected = "000000000263032f6802027401000000050001000100"
    assert value_bytes(subscription_record("g", MEMBER)) == expected


def test_a_classic_member_carries_its_protocols() -> None:
    expected = "000000000263032f680202740100000005000100110100000007020672616e67650301020000"
    assert value_bytes(subscription_record("g", CLASSIC)) == expected


def test_the_other_records() -> None:
    assert value_bytes(current_assignment_record("g", MEMBER)) == (
        "000000000003000000020102000000000000000100000000000000020300000000000000010100"
        "090300000003000000020100"
    )
    target = target_assignment_record("g", "m", {TOPIC: frozenset({1, 0})})
    assert value_bytes(target) == (
        "0000020000000000000001000000000000000203000000000000000100" + "00"
    )
    assert value_bytes(epoch_record("g", 4, -5)) == "0000000000040100" + "08fffffffffffffffb"
    assert value_bytes(assignment_epoch_record("g", 4, 99)) == (
        "0000000000040100" + "080000000000000063"
    )
    regex = regex_record("g", "a", ResolvedRegex(frozenset({"a"}), 3, 4))
    assert value_bytes(regex) == "000002026100000000000000030000000000000004" + "00"


def test_records_and_members_say_the_same() -> None:
    codec = GroupRecordCodec()
    for member in (MEMBER, CLASSIC):
        restored = Member("m")
        for record in (subscription_record("g", member), current_assignment_record("g", member)):
            decoded = codec.decode(*codec.encode(*record))
            assert decoded is not None
            match decoded[1]:
                case ConsumerGroupMemberMetadataValue() as value:
                    restored = with_subscription(restored, value)
                case ConsumerGroupCurrentMemberAssignmentValue() as value:
                    restored = with_current_assignment(restored, value)
        assert restored == member


def test_records_from_before_assignment_epochs_take_the_epoch_of_the_member() -> None:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=4, assigned_partitions=[TopicPartitions(topic_id=TOPIC, partitions=[0, 1])]
    )
    assert with_current_assignment(Member("m"), value).assigned == {TOPIC: {0: 4, 1: 4}}
    value.member_epoch = -2
    assert with_current_assignment(Member("m"), value).assigned == {TOPIC: {0: 0, 1: 0}}
