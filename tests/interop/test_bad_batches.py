"""Poisoned batches get the error codes that Apache gives, and harm nobody else."""

from collections.abc import Iterator

import pytest

from headrace.base.errors import ErrorCode
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.record import Record
from tests.support.apache_kafka import ApacheKafka
from tests.support.headrace_node import HeadraceNode
from tests.support.memory import forget_peak, peak_bytes
from tests.support.node import Node
from tests.support.poison import HEADER_POISON, INNER_POISON, bomb, stamped_by_its_producer
from tests.support.probe import Probe
from tests.support.raw_producer import RawProducer, numbered_batch
from tests.support.workload import create_topic

pytestmark = pytest.mark.no_second_chance

_MIB = 1024 * 1024
_DEEP = {"headrace.produce.validation": "deep"}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadraceNode]:
    with HeadraceNode(tmp_path_factory.mktemp("poison") / "data") as running:
        create_topic(running, "deep", 1, _DEEP)
        create_topic(running, "plain")
        create_topic(running, "compacted", 1, {"cleanup.policy": "compact"})
        yield running


@pytest.fixture(scope="module")
def peer(apache: ApacheKafka) -> ApacheKafka:
    create_topic(apache, "plain")
    create_topic(apache, "compacted", 1, {"cleanup.policy": "compact"})
    return apache


@pytest.fixture(scope="module")
def probe(node: HeadraceNode) -> Iterator[Probe]:
    with Probe(node) as running:
        yield running


@pytest.fixture(autouse=True)
def _others_notice_nothing(probe: Probe, node: HeadraceNode) -> Iterator[None]:
    before = forget_peak(node.pid)
    yield
    probe.must_progress()
    assert node.child.is_running
    # The helper process that looks into batches may hold one of them, unpacked.
    assert peak_bytes(node.pid) - before < 256 * _MIB


def _error(node: Node, topic: str, batch: bytes | bytearray) -> str:
    with RawProducer(node.bootstrap) as producer:
        return ErrorCode(producer.send(topic, batch).error_code).name


def _must_agree(ours: str, theirs: str) -> None:
    """The same code, but where Apache is at a loss (UNKNOWN_SERVER_ERROR) ours says what it is."""
    if theirs == "UNKNOWN_SERVER_ERROR":
        assert ours in ("CORRUPT_MESSAGE", "INVALID_RECORD", "UNSUPPORTED_COMPRESSION_TYPE")
    else:
        assert ours == theirs
        assert theirs != "NONE"


@pytest.mark.parametrize("name", HEADER_POISON)
@pytest.mark.parametrize("topic", ["plain", "compacted"])
def test_a_poisoned_header_is_refused_as_apache_refuses_it(
    name: str, topic: str, node: HeadraceNode, peer: ApacheKafka
) -> None:
    theirs = _error(peer, topic, HEADER_POISON[name]())
    _must_agree(_error(node, topic, HEADER_POISON[name]()), theirs)


@pytest.mark.parametrize("name", INNER_POISON)
def test_poisoned_records_are_refused_where_records_are_looked_at(
    name: str, node: HeadraceNode, peer: ApacheKafka
) -> None:
    theirs = _error(peer, "plain", INNER_POISON[name]())
    _must_agree(_error(node, "deep", INNER_POISON[name]()), theirs)
    _must_agree(_error(node, "compacted", INNER_POISON[name]()), theirs)


def test_a_record_without_a_key_is_refused_on_a_compacted_topic(
    node: HeadraceNode, peer: ApacheKafka
) -> None:
    batch = build_batch([Record(0, -1, None, b"v", ())])
    assert _error(node, "compacted", batch) == _error(peer, "compacted", batch) == "INVALID_RECORD"


def test_a_producer_may_not_claim_that_the_broker_set_its_timestamps(
    node: HeadraceNode, peer: ApacheKafka
) -> None:
    for one in (node, peer):
        create_topic(one, "stamped", 1, {"message.timestamp.type": "LogAppendTime"})
        assert _error(one, "stamped", stamped_by_its_producer()) == "INVALID_TIMESTAMP"


@pytest.mark.parametrize("codec", [c for c in Codec if c], ids=lambda codec: codec.name.lower())
@pytest.mark.parametrize("topic", ["deep", "compacted"])
def test_a_decompression_bomb_costs_its_sender_an_error(
    codec: Codec, topic: str, node: HeadraceNode
) -> None:
    refused = _error(node, topic, bomb(codec, 15 * _MIB if codec == Codec.SNAPPY else 200 * _MIB))
    assert refused in ("MESSAGE_TOO_LARGE", "CORRUPT_MESSAGE", "INVALID_RECORD")


def test_nothing_of_all_that_is_in_the_log(node: HeadraceNode) -> None:
    with RawProducer(node.bootstrap) as producer:
        for topic in ("deep", "compacted"):
            sent = producer.send(topic, numbered_batch(0, 3))
            assert (sent.error_code, sent.base_offset) == (0, 0)
