"""Brokers come, live and go."""

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import DIRECTORY_UNASSIGNED
from headrace.metadata import records as r
from headrace.metadata.controller import brokers
from headrace.metadata.controller.directories import assign_replicas_to_directories
from headrace.metadata.controller.elections import elect_leaders
from headrace.metadata.controller.heartbeats import process_heartbeat
from headrace.metadata.controller.producer_ids import ProducerIdBlock, allocate_producer_ids
from headrace.metadata.controller.registration import register_broker
from headrace.metadata.controller.sessions import BrokerSessions
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.features import SUPPORTED
from headrace.metadata.image import MetadataImage, PartitionImage
from headrace.protocol.messages import assign_replicas_to_dirs as assign
from headrace.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from headrace.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from tests.unit.metadata.samples import (
    TOPIC_A,
    broker_records,
    cluster,
    feature_records,
    replayed,
    topic_records,
)

SETTINGS = ControllerSettings(cluster_id="c")


def request(
    broker_id: int = 1, incarnation: int = 77, **changes: object
) -> BrokerRegistrationRequest:
    made = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id="c",
        incarnation_id=bytes([incarnation]) * 16,
        listeners=[Listener(name="PLAINTEXT", host="h", port=1)],
        features=[
            Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in SUPPORTED.items()
        ],
        log_dirs=[bytes([broker_id]) * 15 + b"d"],
    )
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def partition(image: MetadataImage, index: int = 0) -> PartitionImage:
    return image.topics_by_name["a"].partitions[index]


def refusal(image: MetadataImage, registration: BrokerRegistrationRequest) -> KafkaError:
    with pytest.raises(KafkaError) as raised:
        register_broker(image, SETTINGS, registration, next_offset=9)
    return raised.value


def test_a_new_broker_is_fenced_and_its_epoch_is_its_offset() -> None:
    image = replayed(feature_records())
    result = register_broker(image, SETTINGS, request(), next_offset=12)
    assert result.reply == 12
    broker = replayed(result.records, image).brokers[1]
    assert (broker.epoch, broker.fenced) == (12, True)


def test_the_same_process_registering_again_keeps_its_epoch_and_state() -> None:
    image = cluster(1)
    result = register_broker(image, SETTINGS, request(incarnation=1, rack="r"), next_offset=50)
    assert result.reply == 101
    broker = replayed(result.records, image).brokers[1]
    assert (broker.epoch, broker.fenced, broker.rack) == (101, False, "r")


def test_another_process_under_the_id_of_a_live_broker_is_refused() -> None:
    with pytest.raises(KafkaError) as raised:
        register_broker(cluster(1), SETTINGS, request(), next_offset=9, has_live_session=True)
    assert raised.value.code == ErrorCode.DUPLICATE_BROKER_REGISTRATION


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"cluster_id": "other"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"log_dirs": []}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [bytes(16)]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [b"x" * 16] * 2}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [b"\x02" * 15 + b"d"]}, ErrorCode.INVALID_REGISTRATION),
        ({"is_migrating_zk_broker": True}, ErrorCode.BROKER_ID_NOT_REGISTERED),
        ({"features": []}, ErrorCode.INVALID_REGISTRATION),
    ],
)
def test_registrations_that_are_refused(changes: dict[str, object], code: ErrorCode) -> None:
    registration = request()
    for name, value in changes.items():
        setattr(registration, name, value)
    assert refusal(cluster(2), registration).code == code


def test_a_broker_that_does_not_support_the_clusters_features_is_refused() -> None:
    registration = request()
    registration.features = [
        Feature(name="metadata.version", min_supported_version=7, max_supported_version=29)
    ]
    error = refusal(replayed(feature_records()), registration)
    assert error.code == ErrorCode.UNSUPPORTED_VERSION
    assert "between 7 and 29, inclusive" in error.message


def test_a_clean_restart_keeps_the_broker_eligible() -> None:
    image = replayed(topic_records(), cluster(1))
    registration = request(previous_broker_epoch=101)
    result = register_broker(image, SETTINGS, registration, next_offset=50)
    after = partition(replayed(result.records, image))
    assert (after.leader, after.elr, after.last_known_elr) == (-1, (1,), (1,))
    assert result.reply == 51


def test_a_restart_after_a_crash_does_not() -> None:
    image = replayed(topic_records(), cluster(1))
    result = register_broker(image, SETTINGS, request(), next_offset=50)
    after = partition(replayed(result.records, image))
    assert (after.leader, after.elr, after.last_known_elr) == (-1, (), (1,))


def test_the_controllers_own_broker_keeps_what_it_alone_has() -> None:
    image = replayed(topic_records(), cluster(1))
    registration = request(previous_broker_epoch=101)
    result = register_broker(image, SETTINGS, registration, next_offset=50, is_own=True)
    assert len(result.records) == 1
    assert partition(replayed(result.records, image)) == partition(image)


def test_after_a_crash_its_partitions_get_a_new_leader_epoch() -> None:
    image = replayed(topic_records(partitions=2), cluster(1))
    result = register_broker(image, SETTINGS, request(), next_offset=50, is_own=True)
    image = replayed(result.records, image)
    for index in (0, 1):
        after = partition(image, index)
        assert (after.leader, after.isr, after.leader_epoch) == (1, (1,), 1)
    assert result.reply == 52


def test_partitions_with_other_replicas_are_left_even_by_the_own_broker() -> None:
    image = replayed(topic_records(replicas=(1, 2)), cluster(1, 2))
    result = register_broker(image, SETTINGS, request(), next_offset=50, is_own=True)
    after = partition(replayed(result.records, image))
    assert (after.leader, after.isr) == (2, (2,))


def test_what_apache_kafka_leaves_at_a_clean_stop_is_led_again() -> None:
    image = replayed(topic_records(), cluster(1))
    image = replayed(brokers.begin_shutdown(image, SETTINGS, image.brokers[1]), image)
    image = replayed(brokers.fence(image, SETTINGS, image.brokers[1]), image)
    assert partition(image).leader == -1
    registration = request(previous_broker_epoch=101)
    result = register_broker(image, SETTINGS, registration, next_offset=50, is_own=True)
    image = replayed(result.records, image)
    image = replayed(brokers.unfence(image, SETTINGS, image.brokers[1]), image)
    after = partition(image)
    assert (after.leader, after.isr, after.elr, after.leader_epoch) == (1, (1,), (), 2)
    assert image.brokers[1].is_active


def test_fencing_moves_leadership_and_unfencing_gives_leaderless_partitions_back() -> None:
    image = replayed(topic_records(replicas=(1, 2)), cluster(1, 2))
    image = replayed(brokers.fence(image, SETTINGS, image.brokers[1]), image)
    assert (partition(image).leader, partition(image).isr) == (2, (2,))
    image = replayed(brokers.fence(image, SETTINGS, image.brokers[2]), image)
    assert partition(image).leader == -1
    image = replayed(brokers.unfence(image, SETTINGS, image.brokers[2]), image)
    assert partition(image).leader == 2


def test_unregistering() -> None:
    image = replayed(topic_records(replicas=(1, 2)), cluster(1, 2))
    image = replayed(brokers.unregister_broker(image, SETTINGS, 1).records, image)
    assert list(image.brokers) == [2]
    assert partition(image).isr == (2,)
    with pytest.raises(KafkaError, match="Broker ID 9 is not currently registered"):
        brokers.unregister_broker(image, SETTINGS, 9)


def heartbeat(
    image: MetadataImage, sessions: BrokerSessions, broker_id: int = 1, **fields: object
) -> tuple[MetadataImage, bool, bool]:
    beat = BrokerHeartbeatRequest(
        broker_id=broker_id,
        broker_epoch=image.brokers[broker_id].epoch,
        current_metadata_offset=1000,
    )
    for name, value in fields.items():
        setattr(beat, name, value)
    result = process_heartbeat(
        image, SETTINGS, sessions, beat, now_ms=0, log_end_offset=image.offset + 1
    )
    return (
        replayed(result.records, image),
        result.reply.is_fenced,
        result.reply.should_shut_down,
    )


def test_a_fenced_broker_is_unfenced_once_it_knows_its_registration() -> None:
    image = replayed([*feature_records(), *broker_records(1, fenced=True)])
    sessions = BrokerSessions()
    image, fenced, _ = heartbeat(image, sessions, current_metadata_offset=100)
    assert fenced
    image, fenced, _ = heartbeat(image, sessions, current_metadata_offset=101)
    assert not fenced
    assert not image.brokers[1].fenced


def test_a_leader_that_wants_to_stop_hands_over_first() -> None:
    image = replayed(topic_records(replicas=(1, 2)), cluster(1, 2))
    sessions = BrokerSessions()
    heartbeat(image, sessions, broker_id=2, current_metadata_offset=1)
    image, fenced, stop = heartbeat(image, sessions, want_shut_down=True)
    assert (fenced, stop) == (False, False)
    assert image.brokers[1].in_controlled_shutdown
    assert partition(image).leader == 2
    image, _, stop = heartbeat(image, sessions, want_shut_down=True)
    assert not stop
    image, _, _ = heartbeat(image, sessions, broker_id=2, current_metadata_offset=10**6)
    image, fenced, stop = heartbeat(image, sessions, want_shut_down=True)
    assert (fenced, stop) == (True, True)


def test_a_broker_that_leads_nothing_may_stop_at_once() -> None:
    _, fenced, stop = heartbeat(cluster(1), BrokerSessions(), want_shut_down=True)
    assert (fenced, stop) == (True, True)


def test_a_stale_epoch_is_refused() -> None:
    with pytest.raises(KafkaError, match="Expected broker epoch 101, but got broker epoch 5"):
        heartbeat(cluster(1), BrokerSessions(), broker_epoch=5)


def test_a_failed_directory_takes_its_partitions_off_line() -> None:
    directories = [b"1" * 16, b"2" * 16]
    image = replayed([*feature_records(), *broker_records(1, directories=directories)])
    topic, first, second = topic_records(partitions=2)
    assert isinstance(first, r.PartitionRecord)
    assert isinstance(second, r.PartitionRecord)
    first.directories, second.directories = [directories[0]], [directories[1]]
    image = replayed([topic, first, second], image)
    image, fenced, _ = heartbeat(image, BrokerSessions(), offline_log_dirs=[directories[0]])
    assert not fenced
    assert partition(image, 0).leader == -1
    assert partition(image, 1).leader == 1
    assert image.brokers[1].directories == (directories[1],)


def test_a_broker_tells_which_directories_are_cordoned_and_that_is_written_once() -> None:
    image, sessions = cluster(1), BrokerSessions()
    (directory,) = image.brokers[1].directories
    image, _, _ = heartbeat(image, sessions, cordoned_log_dirs=[directory])
    assert image.brokers[1].cordoned_directories == (directory,)
    offset = image.offset
    image, _, _ = heartbeat(image, sessions, cordoned_log_dirs=[directory])
    assert image.offset == offset
    image, _, _ = heartbeat(image, sessions, cordoned_log_dirs=[])
    assert image.brokers[1].cordoned_directories == ()
    older = r.FeatureLevelRecord(name="metadata.version", feature_level=29)
    image = replayed([older], image)
    # No record of an older cluster has room for them.
    assert brokers.cordon(image, image.brokers[1], [directory]) == []


def test_silent_brokers_expire() -> None:
    sessions = BrokerSessions(timeout_ms=100)
    sessions.touch(1, 101, 0, metadata_offset=0, fenced=False)
    sessions.touch(2, 102, 50, metadata_offset=0, fenced=False)
    sessions.touch(3, 103, 0, metadata_offset=0, fenced=True)
    assert sessions.expired(99) == []
    assert sessions.expired(100) == [(1, 101)]
    assert not sessions.is_alive(1, 100)
    assert sessions.is_alive(2, 100)


def test_producer_ids_come_in_blocks_of_a_thousand() -> None:
    image = cluster(1)
    result = allocate_producer_ids(image, 1, 101)
    assert result.reply == ProducerIdBlock(0, 1000)
    image = replayed(result.records, image)
    assert allocate_producer_ids(image, 1, 101).reply.first == 1000
    with pytest.raises(KafkaError) as raised:
        allocate_producer_ids(image, 1, 5)
    assert raised.value.code == ErrorCode.STALE_BROKER_EPOCH


def test_the_producer_ids_end_some_day() -> None:
    image = replayed(
        [r.ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=2**63 - 1000)],
        cluster(1),
    )
    with pytest.raises(KafkaError, match="Exhausted all producerIds"):
        allocate_producer_ids(image, 1, 101)


def test_elections() -> None:
    image = replayed(topic_records(replicas=(1, 2)), cluster(1, 2))
    wanted = [("a", 0), ("a", 5), ("b", 0)]
    result = elect_leaders(image, SETTINGS, 0, wanted)
    assert result.records == []
    codes = {key: error.code.name for key, error in result.reply.items() if error is not None}
    assert codes == {
        ("a", 0): "ELECTION_NOT_NEEDED",
        ("a", 5): "UNKNOWN_TOPIC_OR_PARTITION",
        ("b", 0): "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert elect_leaders(image, SETTINGS, 0, None).reply == {}


def test_a_preferred_election_and_one_that_cannot_be() -> None:
    image = replayed(topic_records(replicas=(1, 2)), cluster(1, 2))
    image = replayed([r.PartitionChangeRecord(topic_id=TOPIC_A, partition_id=0, leader=2)], image)
    result = elect_leaders(image, SETTINGS, 0, None)
    assert result.reply == {("a", 0): None}
    assert partition(replayed(result.records, image)).leader == 1
    image = replayed([r.PartitionChangeRecord(topic_id=TOPIC_A, partition_id=0, isr=[2])], image)
    error = elect_leaders(image, SETTINGS, 0, [("a", 0)]).reply["a", 0]
    assert error is not None
    assert error.code == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    with pytest.raises(KafkaError, match="Unknown election type 7"):
        elect_leaders(image, SETTINGS, 7, None)


def test_replicas_are_assigned_to_directories() -> None:
    directories = [b"1" * 16, b"2" * 16]
    image = replayed([*feature_records(), *broker_records(1, directories=directories)])
    topic, first = topic_records()
    assert isinstance(first, r.PartitionRecord)
    first.directories = [DIRECTORY_UNASSIGNED]
    image = replayed([topic, first], image)
    wish = assign.AssignReplicasToDirsRequest(
        broker_id=1,
        broker_epoch=101,
        directories=[
            assign.DirectoryData(
                id=directories[1],
                topics=[
                    assign.TopicData(
                        topic_id=TOPIC_A,
                        partitions=[
                            assign.PartitionData(partition_index=0),
                            assign.PartitionData(partition_index=3),
                        ],
                    ),
                    assign.TopicData(
                        topic_id=b"?" * 16, partitions=[assign.PartitionData(partition_index=0)]
                    ),
                ],
            )
        ],
    )
    result = assign_replicas_to_directories(image, SETTINGS, wish)
    known, unknown = result.reply.directories[0].topics
    assert [one.error_code for one in known.partitions] == [
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    after = partition(replayed(result.records, image))
    assert after.directories == (directories[1],)
    assert (after.leader, after.leader_epoch) == (1, 0)
