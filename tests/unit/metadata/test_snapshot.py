"""Snapshots: bytes, names, policy."""

from itertools import pairwise
from pathlib import Path

import pytest

from headrace.base.checks import InvariantBrokenError
from headrace.metadata import records as r
from headrace.metadata.image import EMPTY_IMAGE, MetadataImage
from headrace.metadata.record_codec import UnknownRecord
from headrace.metadata.replay import Replayer
from headrace.metadata.snapshot import (
    BATCH_RECORDS_MAX,
    QuorumRecords,
    SnapshotId,
    image_batches,
    parse_file_name,
    read_snapshot,
)
from headrace.metadata.snapshot_policy import SnapshotFile, SnapshotPolicy, log_start_to_keep
from headrace.raft.voters import Voter, VoterSet
from headrace.records.batch import iter_headers
from tests.unit.metadata.samples import TOPIC_B, cluster, replayed, topic_records

APACHE_LOG = Path(__file__).parent / "data" / "apache-4.3.1-metadata.log"


def id_of(image: MetadataImage) -> SnapshotId:
    return SnapshotId(image.offset + 1, image.epoch)


def written(image: MetadataImage, quorum: QuorumRecords | None = None) -> bytes:
    return b"".join(image_batches(image, 99, quorum))


def full_image() -> MetadataImage:
    """An image with something of every kind."""
    replayer = Replayer(EMPTY_IMAGE)
    replayer.replay_batches(APACHE_LOG.read_bytes())
    image, _ = replayer.apply()
    return replayed(
        [
            r.ProducerIdsRecord(broker_id=1, broker_epoch=12, next_producer_id=3000),
            r.ZkMigrationStateRecord(zk_migration_state=0),
            UnknownRecord(99, 0, b"\x01\x63\x00new"),
            *topic_records("b", TOPIC_B, 3, (1,)),
        ],
        image,
    )


def test_an_image_survives_its_snapshot_whole() -> None:
    image = full_image()
    snapshot = read_snapshot(written(image), id_of(image))
    assert snapshot.image == image
    assert snapshot.last_contained_timestamp_ms == image.timestamp_ms
    assert snapshot.quorum == QuorumRecords()


def test_a_snapshot_of_many_records_has_many_batches_with_offsets_of_their_own() -> None:
    image = replayed(topic_records(partitions=2 * BATCH_RECORDS_MAX), cluster(1))
    data = written(image)
    headers = [header for _, header in iter_headers(data)]
    assert headers[0].is_control
    assert headers[-1].is_control
    assert len(headers) == 5
    for before, after in pairwise(headers):
        assert after.base_offset == before.next_offset
    assert read_snapshot(data, id_of(image)).image == image


def test_a_dynamic_quorum_keeps_its_voters() -> None:
    voters = VoterSet.of([Voter(1, b"D" * 16, (("CONTROLLER", "h", 9093),))])
    quorum = QuorumRecords(1, voters)
    image = cluster(1)
    assert read_snapshot(written(image, quorum), id_of(image)).quorum == quorum


def test_the_version_of_the_cluster_decides_how_partitions_are_written() -> None:
    image = replayed(
        [r.FeatureLevelRecord(name="metadata.version", feature_level=17), *topic_records()]
    )
    assert read_snapshot(written(image), id_of(image)).image == image


@pytest.mark.parametrize("cut", [1, 75, 80])
def test_a_snapshot_without_its_end_is_refused(cut: int) -> None:
    image = cluster(1)
    with pytest.raises(InvariantBrokenError):
        read_snapshot(written(image)[:-cut], id_of(image))


def test_names_have_twenty_and_ten_digits() -> None:
    name = "00000000000000000254-0000000001.checkpoint"
    assert SnapshotId(254, 1).file_name == name
    assert parse_file_name(name) == SnapshotId(254, 1)


@pytest.mark.parametrize(
    "name",
    [
        "bootstrap.checkpoint",
        "00000000000000000254.snapshot",
        "00000000000000000254-0000000001.checkpoint.part",
        "00000000000000000254-0000000001.checkpoint.deleted",
        "0000000000000000025x-0000000001.checkpoint",
        "leader-epoch-checkpoint",
    ],
)
def test_other_files_are_no_snapshots(name: str) -> None:
    assert parse_file_name(name) is None


def test_a_snapshot_is_due_by_bytes_or_by_time() -> None:
    policy = SnapshotPolicy(bytes_between_max=100, interval_ms_max=1000)
    assert not policy.is_due(99, 999)
    assert policy.is_due(100, 0)
    assert policy.is_due(1, 1000)
    assert not policy.is_due(0, 10**9)
    assert not SnapshotPolicy(bytes_between_max=100, interval_ms_max=0).is_due(99, 10**9)


def files(*sizes_and_times: tuple[int, int]) -> list[SnapshotFile]:
    return [
        SnapshotFile(SnapshotId(10 * number, 1), size, time)
        for number, (size, time) in enumerate(sizes_and_times, start=1)
    ]


def test_old_snapshots_go_until_the_rest_fits() -> None:
    policy = SnapshotPolicy(retention_bytes=25, retention_ms=-1)
    assert log_start_to_keep(files((10, 0), (10, 0), (10, 0)), 5, 99, policy) == SnapshotId(20, 1)
    assert log_start_to_keep(files((10, 0), (10, 0)), 5, 99, policy) is None


def test_the_newest_snapshot_stays_whatever_its_size_and_age() -> None:
    policy = SnapshotPolicy(retention_bytes=0, retention_ms=0)
    assert log_start_to_keep(files((10, 0)), 50, 10**9, policy) is None
    assert log_start_to_keep(files((10, 0), (10, 0)), 50, 10**9, policy) == SnapshotId(20, 1)


def test_snapshots_go_by_age() -> None:
    policy = SnapshotPolicy(retention_bytes=-1, retention_ms=100)
    kept = log_start_to_keep(files((1, 0), (1, 50), (1, 900)), 0, 1000, policy)
    assert kept == SnapshotId(30, 1)
