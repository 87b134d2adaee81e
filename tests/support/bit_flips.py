"""Single bits that change on a disk while a node is down.

The node starts and serves what is still whole, or ends with code 1 and a sentence that says why it
cannot start. It never gives a consumer that checks checksums anything that was not written, what
can be rebuilt costs nobody a record, and it never hangs.
"""

import random
import re
import shutil
from collections import Counter
from enum import Enum, auto
from pathlib import Path
from typing import NamedTuple

from headrace.base.errors import ErrorCode
from headrace.records.batch import iter_headers
from tests.support.checked_reader import Read, not_found, read_checked
from tests.support.headrace_node import HeadraceNode
from tests.support.raw_producer import RawProducer, numbered_batch
from tests.support.workload import create_topic

_TOPIC = "flipped"
_RECORDS = 1_000
_LAST_BATCH = _RECORDS - 5
#: Behind the last index entry there are no more than so many batches of five.
_LAST_INDEXED = _RECORDS - 5 * 4
#: The last line of a node that does not start.
_SENTENCE = re.compile(r"[A-Z/].* .*\.")


class Keeps(Enum):
    """Records that are served all the same."""

    ALL = auto()  # the files only help to find them, or can be made anew
    #: The damaged batch, or none until the operator gives up those behind it, which stay on disk.
    THOSE_BEFORE = auto()
    ON_DISK = auto()  # perhaps none, but then their files are set aside


class Kind(NamedTuple):
    """Files of a data directory, and what a flipped bit in one of them may cost."""

    files: str
    keeps: Keeps = Keeps.ALL
    #: Where nothing tells what is right, the operator has to.
    may_refuse: bool = False


KINDS = (
    Kind(f"{_TOPIC}-0/*.log", Keeps.THOSE_BEFORE),
    Kind(f"{_TOPIC}-0/*.index"),
    Kind(f"{_TOPIC}-0/*.timeindex"),
    Kind(f"{_TOPIC}-0/*.snapshot"),
    Kind(f"{_TOPIC}-0/leader-epoch-checkpoint"),
    # With another topic's id the partition is none of the cluster's, as with Kafka.
    Kind(f"{_TOPIC}-0/partition.metadata", Keeps.ON_DISK),
    Kind("recovery-point-offset-checkpoint"),
    Kind("replication-offset-checkpoint"),
    Kind("log-start-offset-checkpoint"),
    Kind("meta.properties", may_refuse=True),
    Kind("bootstrap.checkpoint"),
    Kind(".kafka_cleanshutdown"),
    Kind("__cluster_metadata-0/*.log", Keeps.ON_DISK, may_refuse=True),
    Kind("__cluster_metadata-0/quorum-state", may_refuse=True),
)


class _Flip(NamedTuple):
    """A flipped bit: where it is, and how many records must be there all the same."""

    place: str
    kept: int


class FlippedBits:
    """A data directory after a clean stop, of which copies are damaged."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        small = {"internal.segment.bytes": "6000", "index.interval.bytes": "200"}
        with HeadraceNode(directory) as node:
            create_topic(node, _TOPIC, 1, small)
            with RawProducer(node.bootstrap) as producer:
                producer_id = producer.new_producer_id()
                for number in range(0, _RECORDS, 5):
                    sent = producer.send_sequence(_TOPIC, producer_id, number, 5)
                    assert (sent.error_code, sent.base_offset) == (0, number)
            self._records, trouble = read_checked(node, _TOPIC)
            assert (len(self._records), trouble) == (_RECORDS, None)

    def flip_and_start(self, kind: Kind, chance: random.Random, copy: Path) -> None:
        """Flip one bit in a copy, start a node on it, and see what it makes of that."""
        shutil.copytree(self._directory, copy)
        flip = _flip(kind, chance, copy)
        node = HeadraceNode(copy)
        refusal = _refusal(node, flip)
        try:
            if refusal is None:
                _check(node, self._records, flip)
        finally:
            node.kill()
        assert refusal is None or kind.may_refuse, f"{flip.place}: {refusal}"
        if kind.keeps is not Keeps.THOSE_BEFORE or flip.kept < _LAST_BATCH:
            assert _log_sizes(copy) >= _log_sizes(self._directory), flip.place
        shutil.rmtree(copy)


def _refusal(node: HeadraceNode, flip: _Flip) -> str | None:
    """The sentence of a node that does not start; whatever else keeps it from that is raised."""
    try:
        node.start()
    except AssertionError:
        # It did not end by itself if it was killed for taking too long, or died by a signal.
        output = node.child.output.read_text()
        assert node.child.process.returncode == 1, f"{flip.place}\n{output}"
        sentence = (output.splitlines() or [""])[-1]
        assert _SENTENCE.fullmatch(sentence), f"{flip.place}\n{output}"
        assert str(node.directory) in sentence, f"{flip.place}\n{output}"
        assert "Traceback" not in output, f"{flip.place}\n{output}"
        assert "Unexpected" not in sentence, f"{flip.place}\n{output}"
        return sentence
    return None


def _flip(kind: Kind, chance: random.Random, copy: Path) -> _Flip:
    path = chance.choice([path for path in sorted(copy.glob(kind.files)) if path.stat().st_size])
    data = bytearray(path.read_bytes())
    position, bit = chance.randrange(len(data)), chance.randrange(8)
    while path.suffix == ".log" and _is_unprotected(data, position):
        position = chance.randrange(len(data))
    kept = 0
    if kind.keeps is Keeps.ALL:
        kept = _RECORDS
    elif kind.keeps is Keeps.THOSE_BEFORE:
        kept = _first_offset_of_batch(data, position)
    data[position] ^= 1 << bit
    path.write_bytes(data)
    return _Flip(f"{path.name}, byte {position}, bit {bit}", kept)


def _log_sizes(directory: Path) -> Counter[str]:
    """The size of each of the topic's segments, whatever its partition's directory is called."""
    found = Counter[str]()
    for path in directory.glob(f"{_TOPIC}-0*/*.log"):
        found |= Counter({path.name: path.stat().st_size})
    return found


def _is_unprotected(data: bytes | bytearray, position: int) -> bool:
    """A batch's offset and leader epoch: the broker sets them, so no checksum covers them."""
    for start, header in iter_headers(data):
        if position < start + header.size:
            return position - start in (*range(8), *range(12, 16))
    return False


def _first_offset_of_batch(data: bytes | bytearray, position: int) -> int:
    return [header.base_offset for start, header in iter_headers(data) if start <= position][-1]


def _check(node: HeadraceNode, records: list[Read], flip: _Flip) -> None:
    found, trouble = read_checked(node, _TOPIC)
    assert found == records[: len(found)], flip.place
    is_set_aside = (
        _LAST_INDEXED <= flip.kept < len(records) and trouble == ErrorCode.KAFKA_STORAGE_ERROR.name
    )
    if not is_set_aside:
        assert len(found) >= flip.kept, f"{flip.place}: {trouble} after {len(found)} records"
    with RawProducer(node.bootstrap) as producer:
        code = ErrorCode(producer.send(_TOPIC, numbered_batch(0, 1)).error_code)
    assert code is not ErrorCode.UNKNOWN_SERVER_ERROR, flip.place
    if flip.kept == len(records):
        # Backwards, or the node would remember where the last batch ended and ask no index.
        missed = not_found(node, _TOPIC, range(len(records) - 2, -1, -5))
        assert missed == [], f"{flip.place}: {missed}"
        assert (trouble, code) == (None, ErrorCode.NONE), flip.place
