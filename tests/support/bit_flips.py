"""Single bits that change on a disk while a node is down.

The node starts and serves what is still whole, or says in a sentence why it cannot start. It never
gives a consumer that checks checksums anything that was not written, and it never hangs.
"""

import random
import shutil
from pathlib import Path

from headrace.base.errors import ErrorCode
from headrace.records.batch import iter_headers
from tests.support.checked_reader import Read, read_checked
from tests.support.headrace_node import HeadraceNode
from tests.support.raw_producer import RawProducer, numbered_batch
from tests.support.workload import create_topic

_TOPIC = "flipped"
#: Files of a data directory, as glob expressions.
KINDS = (
    f"{_TOPIC}-0/*.log",
    f"{_TOPIC}-0/*.index",
    f"{_TOPIC}-0/*.timeindex",
    f"{_TOPIC}-0/*.snapshot",
    f"{_TOPIC}-0/leader-epoch-checkpoint",
    f"{_TOPIC}-0/partition.metadata",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "meta.properties",
    "bootstrap.checkpoint",
    ".kafka_cleanshutdown",
    "__cluster_metadata-0/*.log",
    "__cluster_metadata-0/quorum-state",
)


class FlippedBits:
    """A data directory after a clean stop, of which copies are damaged."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        small = {"internal.segment.bytes": "6000", "index.interval.bytes": "200"}
        with HeadraceNode(directory) as node:
            create_topic(node, _TOPIC, 1, small)
            with RawProducer(node.bootstrap) as producer:
                producer_id = producer.new_producer_id()
                for number in range(0, 1_000, 5):
                    sent = producer.send_sequence(_TOPIC, producer_id, number, 5)
                    assert (sent.error_code, sent.base_offset) == (0, number)
            self._records, trouble = read_checked(node, _TOPIC)
            assert (len(self._records), trouble) == (1_000, None)

    def flip_and_start(self, kind: str, chance: random.Random, copy: Path) -> None:
        """Flip one bit in a copy, start a node on it, and see what it makes of that."""
        shutil.copytree(self._directory, copy)
        place = _flip(chance, sorted(copy.glob(kind)))
        node = HeadraceNode(copy)
        refusal = _start(node)
        if refusal is None:
            _check(node, self._records, place)
            node.kill()
        else:
            assert "Traceback" not in refusal, place
            assert "Unexpected" not in refusal, place
        shutil.rmtree(copy)


def _start(node: HeadraceNode) -> str | None:
    """What a node says if it does not start."""
    try:
        node.start()
    except AssertionError as error:
        return str(error)
    return None


def _flip(chance: random.Random, paths: list[Path]) -> str:
    path = chance.choice([path for path in paths if path.stat().st_size])
    data = bytearray(path.read_bytes())
    position, bit = chance.randrange(len(data)), chance.randrange(8)
    while path.suffix == ".log" and _is_unprotected(data, position):
        position = chance.randrange(len(data))
    data[position] ^= 1 << bit
    path.write_bytes(data)
    return f"{path.name}, byte {position}, bit {bit}"


def _is_unprotected(data: bytes | bytearray, position: int) -> bool:
    """A batch's offset and leader epoch: the broker sets them, so no checksum covers them."""
    for start, header in iter_headers(data):
        if position < start + header.size:
            return position - start in (*range(8), *range(12, 16))
    return False


def _check(node: HeadraceNode, records: list[Read], place: str) -> None:
    found, _ = read_checked(node, _TOPIC)
    wrong = set(found) - set(records)
    assert wrong == set(), place
    assert found == sorted(found, key=lambda one: one.offset), place
    with RawProducer(node.bootstrap) as producer:
        code = ErrorCode(producer.send(_TOPIC, numbered_batch(0, 1)).error_code)
        assert code is not ErrorCode.UNKNOWN_SERVER_ERROR, place
