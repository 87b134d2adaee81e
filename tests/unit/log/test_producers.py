"""Idempotent and transactional producers as a log sees them."""

from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.append import AppendOrigin
from headrace.log.partition_log import PartitionLog
from headrace.log.txn_index import AbortedTxn
from tests.unit.log.samples import (
    NOW,
    append,
    batch,
    end_transaction,
    everything,
    kill,
    marker,
    new_log,
    produce,
    reload,
    spans,
)

DAY_MS = 86_400_000
LAST_SEQUENCE = (1 << 31) - 1


def _refused(log: PartitionLog, code: ErrorCode, *args: int, **kwargs: object) -> None:
    end = log.log_end_offset
    with pytest.raises(KafkaError) as caught:
        produce(log, *args, **kwargs)  # type: ignore[arg-type]
    assert caught.value.code is code
    assert log.log_end_offset == end


def test_a_retry_of_one_of_the_last_five_batches_gets_its_first_answer(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    first = [produce(log, 7, n * 2, 2) for n in range(6)]
    for n in range(1, 6):
        retry = produce(log, 7, n * 2, 2)
        assert retry.duplicate
        assert retry[:2] == first[n][:2]
    assert log.log_end_offset == 12


def test_a_retry_of_an_older_batch_is_out_of_order(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for n in range(6):
        produce(log, 7, n)
    _refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 7, 0)


def test_a_batch_that_overlaps_an_older_one_is_no_retry(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0, 4)
    _refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 7, 0, 3)
    _refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 7, 2, 4)


def test_a_gap_in_the_sequence_is_refused(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0)
    _refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 7, 2)
    assert produce(log, 7, 1).base_offset == 1


def test_sequences_start_again_after_the_largest_number(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, LAST_SEQUENCE - 1, 2)
    assert not produce(log, 7, 0).duplicate
    produce(log, 8, LAST_SEQUENCE, 3)  # wraps inside the batch: last sequence is 1
    assert produce(log, 8, LAST_SEQUENCE, 3).duplicate
    assert not produce(log, 8, 2).duplicate


def test_an_unknown_producer_may_start_with_any_sequence(tmp_path: Path) -> None:
    """Its records may have been deleted, its state expired."""
    log = new_log(tmp_path)
    assert produce(log, 7, 42).base_offset == 0
    assert produce(log, 7, 43).base_offset == 1


def test_a_new_epoch_starts_with_sequence_zero(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0, 5)
    _refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 7, 5, epoch=1)
    assert not produce(log, 7, 0, 5, epoch=1).duplicate
    assert produce(log, 7, 0, 5, epoch=1).duplicate


def test_an_old_epoch_is_refused(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0, epoch=3)
    _refused(log, ErrorCode.INVALID_PRODUCER_EPOCH, 7, 1, epoch=2)


def test_a_refused_batch_changes_nothing(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0)
    _refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 7, 9)
    _refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 7, 9, epoch=4)
    assert not produce(log, 7, 1).duplicate


def test_batches_in_one_append_are_checked_one_after_another(tmp_path: Path) -> None:
    log = new_log(tmp_path)

    def part(sequence: int) -> bytearray:
        return batch(1, producer_id=7, producer_epoch=0, base_sequence=sequence)

    assert append(log, part(0) + part(1)).last_offset == 1
    with pytest.raises(KafkaError):
        append(log, part(2) + part(4))
    assert log.log_end_offset == 2
    assert append(log, part(2) + part(3)).last_offset == 3
    assert produce(log, 7, 4).base_offset == 4


def test_coordinators_write_without_sequences(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for _ in range(2):
        data = batch(1, producer_id=7, producer_epoch=0, transactional=True)
        assert not append(log, data, origin=AppendOrigin.COORDINATOR).duplicate


def test_a_follower_takes_what_the_leader_took(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for offset, sequence in ((0, 0), (1, 5)):
        data = batch(
            1,
            base_offset=offset,
            leader_epoch=0,
            producer_id=7,
            producer_epoch=0,
            base_sequence=sequence,
        )
        log.append_as_follower(data, now_ms=NOW)
    assert produce(log, 7, 5).duplicate


def test_idle_producers_are_forgotten_but_not_in_a_transaction(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0)
    produce(log, 8, 0, transactional=True)
    assert log.expire_producers(NOW + DAY_MS - 1) == 0
    assert log.expire_producers(NOW + DAY_MS) == 1
    assert [entry.producer_id for entry in log.producers] == [8]
    assert not produce(log, 7, 0).duplicate


@pytest.mark.parametrize("clean", [True, False])
def test_producers_survive_a_restart(tmp_path: Path, clean: bool) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0, 3)
    log.close(clean=clean)
    again = reload(log, clean=clean)
    assert produce(again, 7, 0, 3).duplicate
    _refused(again, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 7, 4)
    assert produce(again, 7, 3).base_offset == 3
    kill(again)


def test_producers_of_a_truncated_log_are_those_of_what_is_left(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for sequence in range(5):
        produce(log, 7, sequence)
    log.truncate_to(3, NOW)
    assert not produce(log, 7, 3).duplicate
    log.truncate_to(0, NOW)
    assert len(log.producers) == 0


# Transactions


def test_readers_of_committed_data_stop_before_an_open_transaction(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(2))
    produce(log, 7, 0, transactional=True)
    produce(log, 8, 0, transactional=True)
    assert log.last_stable_offset(4) == 2
    end_transaction(log, 7, 0, commit=True)
    assert log.last_stable_offset(5) == 3
    end_transaction(log, 8, 0, commit=False)
    assert log.last_stable_offset(6) == 6


def test_a_transaction_counts_as_ended_once_its_marker_is_replicated(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0, transactional=True)
    end_transaction(log, 7, 0, commit=True)
    assert log.last_stable_offset(1) == 0
    assert log.last_stable_offset(2) == 2


def test_aborted_transactions_are_listed_with_their_last_stable_offset(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0, transactional=True)  # 0
    produce(log, 8, 0, transactional=True)  # 1
    end_transaction(log, 8, 0, commit=False)  # 2
    end_transaction(log, 7, 0, commit=False)  # 3
    append(log, batch(1))  # 4
    later = AbortedTxn(8, 1, 2, 0)
    earlier = AbortedTxn(7, 0, 3, 4)
    assert log.aborted_transactions(0, 5) == [later, earlier]
    assert log.aborted_transactions(3, 5) == [earlier]
    assert log.aborted_transactions(4, 5) == []
    assert log.aborted_transactions(0, 1) == [earlier]


def test_an_abort_in_a_later_segment_is_found(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=300)
    produce(log, 7, 0, transactional=True)
    for _ in range(8):
        append(log, batch(1))
    end_transaction(log, 7, 0, commit=False)
    assert len(log.segments) > 2
    assert log.aborted_transactions(0, 2) == [AbortedTxn(7, 0, 9, 10)]


def test_a_marker_without_data_is_no_transaction(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    end_transaction(log, 7, 0, commit=False)
    assert log.aborted_transactions(0, 1) == []
    assert log.last_stable_offset(1) == 1


def test_a_plain_batch_inside_a_transaction_is_refused(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0, transactional=True)
    _refused(log, ErrorCode.INVALID_TXN_STATE, 7, 1)


def test_an_old_coordinators_marker_is_refused(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0, transactional=True)
    end_transaction(log, 7, 0, commit=True, coordinator_epoch=5)
    with pytest.raises(KafkaError) as caught:
        end_transaction(log, 7, 0, commit=True, coordinator_epoch=4)
    assert caught.value.code is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_a_marker_of_an_older_epoch_is_refused(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0, epoch=2, transactional=True)
    with pytest.raises(KafkaError) as caught:
        end_transaction(log, 7, 1, commit=True)
    assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_markers_of_version_two_must_bring_a_new_epoch(tmp_path: Path) -> None:
    """KIP-890: else a late marker could end the next transaction."""
    log = new_log(tmp_path)

    def end(epoch: int) -> None:
        log.append_as_leader(
            marker(7, epoch, commit=True),
            leader_epoch=0,
            now_ms=NOW,
            origin=AppendOrigin.COORDINATOR,
            transaction_version=2,
        )

    produce(log, 7, 0, transactional=True)
    with pytest.raises(KafkaError) as caught:
        end(0)
    assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    end(1)
    end(1)  # the same marker again, which the coordinator may send after a restart
    assert log.last_stable_offset(3) == 3
    produce(log, 7, 0, epoch=1, transactional=True)
    assert log.last_stable_offset(4) == 3


def test_aborts_behind_a_cut_are_forgotten(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0, transactional=True)
    end_transaction(log, 7, 0, commit=False)
    log.truncate_to(1, NOW)
    assert log.aborted_transactions(0, 2) == []
    assert log.last_stable_offset(1) == 0
    end_transaction(log, 7, 0, commit=True)
    assert log.aborted_transactions(0, 2) == []
    assert spans(everything(log)) == [(0, 0), (1, 1)]
