"""The first records of a cluster."""

from pathlib import Path

import pytest

from headrace.base.checks import InvariantBrokenError
from headrace.metadata import records as r
from headrace.metadata.bootstrap import (
    activation_records,
    decode_bootstrap,
    default_bootstrap_records,
    encode_bootstrap,
    feature_records,
)
from headrace.metadata.features import (
    default_levels,
    metadata_changed_between,
    metadata_version_level,
    missing_dependency,
)
from headrace.records.batch import iter_headers

APACHE_FILE = Path(__file__).parent / "data" / "apache-4.3.1-bootstrap.checkpoint"


def test_the_file_is_what_apache_kafka_leaves_but_for_its_times() -> None:
    theirs = APACHE_FILE.read_bytes()
    ours = encode_bootstrap(default_bootstrap_records(), 1_794_779_749_868)
    assert decode_bootstrap(theirs) == default_bootstrap_records()
    assert len(ours) == len(theirs)
    for (at, mine), (_, yours) in zip(iter_headers(ours), iter_headers(theirs), strict=True):
        assert mine.attributes == yours.attributes
        assert mine.record_count == yours.record_count
        assert ours[at : at + 17] == theirs[at : at + 17]
        assert ours[at + 43 : at + mine.size] == theirs[at + 43 : at + mine.size]


def test_the_levels_are_those_of_kafka_4_3() -> None:
    assert default_levels() == {
        "metadata.version": 30,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
    }


def test_an_older_cluster_begins_with_fewer_features() -> None:
    levels = default_levels(metadata_version_level("3.9"))
    assert levels["metadata.version"] == 21
    assert feature_records(levels) == [
        r.FeatureLevelRecord(name="metadata.version", feature_level=21)
    ]


def test_a_truncated_file_is_refused() -> None:
    with pytest.raises(InvariantBrokenError):
        decode_bootstrap(APACHE_FILE.read_bytes()[:-1])
    with pytest.raises(InvariantBrokenError, match=r"names no metadata\.version"):
        decode_bootstrap(b"")


def test_the_first_leader_writes_one_transaction() -> None:
    records = activation_records(default_bootstrap_records(), 2, aborts_partial=False)
    assert records[0] == r.BeginTransactionRecord(name="Bootstrap records")
    assert records[1:7] == default_bootstrap_records()
    assert records[7] == r.ConfigRecord(
        resource_type=4, resource_name="", name="min.insync.replicas", value="2"
    )
    assert records[8:] == [r.EndTransactionRecord()]


def test_a_leader_after_a_crash_in_the_middle_aborts_first() -> None:
    records = activation_records(default_bootstrap_records(), 1, aborts_partial=True)
    assert isinstance(records[0], r.AbortTransactionRecord)
    assert isinstance(records[1], r.BeginTransactionRecord)


def test_a_cluster_without_eligible_leader_replicas_needs_no_minimum() -> None:
    records = activation_records(feature_records({"metadata.version": 20}), 1, aborts_partial=False)
    assert not any(isinstance(record, r.ConfigRecord) for record in records)


@pytest.mark.parametrize(
    ("text", "level"), [("4.3-IV0", 30), ("4.3", 30), ("4.3.1", 30), ("3.7", 19), ("4.0-IV1", 23)]
)
def test_versions_are_found_by_name(text: str, level: int) -> None:
    assert metadata_version_level(text) == level


def test_an_unknown_version_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"Unknown metadata\.version '9\.9'.*4\.3-IV0"):
        metadata_version_level("9.9")


def test_levels_between_which_records_changed() -> None:
    assert metadata_changed_between(30, 29)
    assert metadata_changed_between(22, 23)
    assert not metadata_changed_between(29, 24)
    assert not metadata_changed_between(30, 30)


def test_eligible_leader_replicas_need_a_metadata_version() -> None:
    levels = {"eligible.leader.replicas.version": 1, "metadata.version": 22}
    assert "depends on metadata.version level 23" in (missing_dependency(levels) or "")
    assert missing_dependency({**levels, "metadata.version": 23}) is None
