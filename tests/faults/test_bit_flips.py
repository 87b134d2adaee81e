"""Single bits that change on a disk while a node is down.

The node starts and serves what is still whole, or says in a sentence why it cannot start. It never
gives a consumer that checks checksums anything that was not written, and it never hangs.
"""

import random
import shutil
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode
from tests.support.headrace_node import HeadraceNode
from tests.support.raw_producer import RawProducer, numbered_batch
from tests.support.reading import Seen, read_until_trouble
from tests.support.workload import create_topic

_FLIPS = 8
_TOPIC = "flipped"
_KINDS = (
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


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Seen]]:
    """A data directory after a clean stop, and the records in it."""
    directory = tmp_path_factory.mktemp("written") / "data"
    small = {"internal.segment.bytes": "6000", "index.interval.bytes": "200"}
    with HeadraceNode(directory) as node:
        create_topic(node, _TOPIC, 1, small)
        with RawProducer(node.bootstrap) as producer:
            producer_id = producer.new_producer_id()
            for number in range(0, 1_000, 5):
                sent = producer.send_sequence(_TOPIC, producer_id, number, 5)
                assert (sent.error_code, sent.base_offset) == (0, number)
        records, trouble = read_until_trouble(node, _TOPIC)
        assert (len(records), trouble) == (1_000, None)
    return directory, records


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", _KINDS)
def test_a_flipped_bit_is_noticed_or_does_no_harm(
    kind: str, seed: int, written: tuple[Path, list[Seen]], tmp_path: Path
) -> None:
    source, records = written
    chance = random.Random(f"{kind} {seed}")
    for flip in range(_FLIPS):
        directory = tmp_path / f"{flip}" / "data"
        shutil.copytree(source, directory)
        place = _flip(chance, sorted(directory.glob(kind)))
        node = HeadraceNode(directory)
        refusal = _start(node)
        if refusal is None:
            _check(node, records, place)
            node.kill()
        else:
            assert "Traceback" not in refusal, place
            assert "Unexpected" not in refusal, place
        shutil.rmtree(directory)


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
    data[position] ^= 1 << bit
    path.write_bytes(data)
    return f"{path.name}, byte {position}, bit {bit}"


def _check(node: HeadraceNode, records: list[Seen], place: str) -> None:
    found, _ = read_until_trouble(node, _TOPIC, timeout=5)
    wrong = set(found) - set(records)
    assert wrong == set(), place
    assert found == sorted(found, key=lambda one: one.offset), place
    with RawProducer(node.bootstrap) as producer:
        code = ErrorCode(producer.send(_TOPIC, numbered_batch(0, 1)).error_code)
        assert code is not ErrorCode.UNKNOWN_SERVER_ERROR, place
