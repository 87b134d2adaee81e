"""aiokafka's record code as a second opinion: it reads ours, and we read its."""

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from headrace.records.builder import build_batch
from headrace.records.produced import check_produce
from headrace.records.reader import read_batch
from tests.unit.records.samples import CODECS, some_records


@pytest.mark.parametrize("codec", CODECS)
def test_aiokafka_reads_our_batches(codec: int) -> None:
    records = some_records(500, 30)
    batch = DefaultRecordBatch(bytes(build_batch(records, base_offset=30, codec=codec)))
    assert batch.validate_crc()
    seen = [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in batch]
    assert seen == [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in records]


@pytest.mark.parametrize("codec", CODECS)
def test_we_read_aiokafkas_batches(codec: int) -> None:
    records = some_records(500)
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=0,
        producer_id=5,
        producer_epoch=1,
        base_sequence=0,
        batch_size=1 << 20,
    )
    for record in records:
        builder.append(
            record.offset,
            timestamp=record.timestamp,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )
    theirs = bytes(builder.build())
    assert check_produce(theirs).record_count == 500
    assert read_batch(theirs) == records
    if codec == 0:
        ours = build_batch(records, producer_id=5, producer_epoch=1, base_sequence=0)
        assert ours[61:] == theirs[61:]
