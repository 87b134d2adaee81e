"""The transaction markers among control batches."""

from struct import Struct

from headrace.base.errors import KafkaError
from headrace.log.producer_table import EndTxnMarker
from headrace.records.batch import BatchHeader, Buffer
from headrace.records.reader import read_checked_batch

_KEY = Struct(">hh")  # version, type
_VALUE = Struct(">hi")  # version, coordinator epoch
_ABORT = 0
_COMMIT = 1


def read_marker(buffer: Buffer, position: int, header: BatchHeader) -> EndTxnMarker | None:
    """What the control batch at `position` says; None if it is no marker that can be read.

    Compaction empties the batch of a marker that nobody needs any more.
    """
    try:
        records = read_checked_batch(buffer, position, header)
    except KafkaError:
        return None
    if not records:
        return None
    key, value = records[0].key, records[0].value
    if key is None or value is None or len(key) < _KEY.size or len(value) < _VALUE.size:
        return None
    kind = _KEY.unpack_from(key)[1]
    if kind not in (_ABORT, _COMMIT):
        return None
    return EndTxnMarker(kind == _COMMIT, _VALUE.unpack_from(value)[1])
