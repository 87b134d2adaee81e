"""Bad bytes on real sockets: they cost their sender the connection, and nobody else anything."""

import random
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from headrace.base.errors import ErrorCode
from tests.support.headrace_node import HeadraceNode
from tests.support.memory import forget_peak, peak_bytes
from tests.support.node import Node
from tests.support.probe import Probe
from tests.support.raw_producer import RawProducer
from tests.support.raw_socket import HARMLESS, RawSocket, frame, request
from tests.support.readiness import eventually
from tests.support.workload import create_topic

pytestmark = pytest.mark.no_second_chance

_MIB = 1024 * 1024
_INT32_MAX = 2**31 - 1
_MANY = struct.pack(">i", _INT32_MAX)
#: Unsigned varint of 2**31 - 1, one more than a compact count of it minus one.
_MANY_COMPACT = b"\xff\xff\xff\xff\x07"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadraceNode]:
    with HeadraceNode(tmp_path_factory.mktemp("bad") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def probe(node: HeadraceNode) -> Iterator[Probe]:
    with Probe(node) as running:
        yield running


@pytest.fixture(autouse=True)
def _others_notice_nothing(probe: Probe, node: HeadraceNode) -> Iterator[None]:
    pid = node.pid
    before = forget_peak(pid)
    yield
    probe.must_progress()
    assert node.child.is_running
    assert node.pid == pid
    assert peak_bytes(pid) - before < 64 * _MIB


_GARBAGE = {
    "a frame larger than allowed": struct.pack(">i", 104_857_601),
    "the largest frame there is": struct.pack(">i", _INT32_MAX) + b"x" * 1000,
    "a frame of negative size": struct.pack(">i", -1),
    "a frame of no bytes": struct.pack(">i", 0),
    "half a header": frame(b"\x00\x03\x00\x01\x00"),
    "HTTP": b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(range(200)),
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
    # The first four bytes are no length: with a good one the node would rightly wait for more.
    "noise": b"\x9b\x4e\x07\xd1" + random.Random(4096).randbytes(4092),
    "an API that does not exist": request(9_999, 0),
    "an API below all": request(-1, 0),
    "an API of another time": request(4, 0),
    "a version to come": request(3, 99),
    "a version below all": request(3, -1),
    "a version long gone": request(1, 0),
    "a client id longer than its frame": frame(struct.pack(">hhihb", 3, 1, 7, 30_000, 1)),
    "a client id that is no text": frame(struct.pack(">hhih", 3, 1, 7, 2) + b"\xff\xfe" + bytes(4)),
    "a count larger than its frame": request(3, 1, _MANY),
    "a compact count larger than its frame": request(3, 9, _MANY_COMPACT, flexible=True),
    "a count of topics to create": request(19, 2, _MANY),
    "a count of batches": request(0, 3, struct.pack(">hhi", -1, 1, 1000) + _MANY),
    "a count of partitions to fetch": request(1, 4, struct.pack(">iiiibi", -1, 0, 0, 99, 0, 1)),
    "tagged fields without end": request(
        18, 3, b"\x02a\x02b" + _MANY_COMPACT + b"\x00\x00" * 50_000, flexible=True
    ),
    "header tags without end": frame(
        struct.pack(">hhih", 18, 3, 7, -1) + _MANY_COMPACT + b"\x00\x00" * 50_000
    ),
    "a request cut short": request(19, 2, struct.pack(">ih", 1, 5) + b"ab"),
}


@pytest.mark.parametrize("name", _GARBAGE)
def test_garbage_costs_its_sender_the_connection(name: str, node: HeadraceNode) -> None:
    with RawSocket(node.port) as first, RawSocket(node.port) as other:
        first.send(_GARBAGE[name])
        assert first.is_closed_by_server()
        assert other.is_alive()


@pytest.mark.parametrize("name", _GARBAGE)
def test_garbage_after_a_good_request_leaves_that_one_answered(
    name: str, node: HeadraceNode
) -> None:
    with RawSocket(node.port) as client:
        client.send(HARMLESS + _GARBAGE[name])
        assert client.receive_frame()[:4] == struct.pack(">i", 7)
        assert client.is_closed_by_server()


def test_a_client_newer_than_the_broker_is_told_which_versions_there_are(
    node: HeadraceNode,
) -> None:
    with RawSocket(node.port) as client:
        client.send(request(18, 99, b"\x00", flexible=True))
        answer = client.receive_frame()
        assert struct.unpack_from(">ih", answer) == (7, ErrorCode.UNSUPPORTED_VERSION)
        assert client.is_alive()


def test_claims_of_large_frames_take_no_memory_before_their_bytes_come(node: HeadraceNode) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(RawSocket(node.port)) for _ in range(300)]
        for client in clients:
            client.send(struct.pack(">i", 100 * _MIB) + b"x" * 100)
        # Enough for the node to have read them all.
        assert all(client.is_alive() for client in [stack.enter_context(RawSocket(node.port))])


def test_half_open_connections_are_borne(node: HeadraceNode) -> None:
    with ExitStack() as stack:
        for number in range(500):
            client = stack.enter_context(RawSocket(node.port))
            client.send(HARMLESS[: number % len(HARMLESS)])
        with RawSocket(node.port) as another:
            assert another.is_alive()


def test_a_client_that_never_reads_is_not_served_on_and_on(node: HeadraceNode) -> None:
    create_topic(node, "unread")
    with RawProducer(node.bootstrap) as producer:
        batch = _large_batch()
        for _ in range(8):
            assert producer.send("unread", batch).error_code == 0
    # Fetch version 4: everything from offset 0, up to 8 MB in one answer.
    name = b"unread"
    body = struct.pack(">iiiib", -1, 0, 1, 8 * _MIB, 0) + struct.pack(">ih", 1, len(name)) + name
    fetch = request(1, 4, body + struct.pack(">iiqi", 1, 0, 0, 8 * _MIB))
    with ExitStack() as stack:
        clients = [stack.enter_context(RawSocket(node.port, receive_buffer=4096)) for _ in range(4)]
        for client in clients:
            # A thousand answers of 8 MB each, if anybody were to make them.
            client.send_until_refused(fetch, 1_000)
        with RawSocket(node.port) as another:
            assert another.is_alive()


def test_a_client_that_sends_and_never_reads_is_stopped(node: HeadraceNode) -> None:
    with RawSocket(node.port, receive_buffer=4096) as client:
        taken = client.send_until_refused(HARMLESS * 1000, 5_000)
        assert taken < len(HARMLESS) * 1000 * 5_000


def test_connections_beyond_the_limits_are_refused_and_idle_ones_closed(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    settings = {"max.connections.per.ip": "40", "connections.max.idle.ms": "1500"}
    with HeadraceNode(tmp_path_factory.mktemp("few") / "data", settings=settings) as node:
        with ExitStack() as stack:
            clients = [stack.enter_context(RawSocket(node.port)) for _ in range(60)]
            alive = [client.is_alive() for client in clients]
            assert alive == [True] * 40 + [False] * 20
            # Nobody says anything, until the broker has enough of it.
            assert clients[0].is_closed_by_server()
        eventually(lambda: _answers(node))


def _answers(node: Node) -> bool:
    with RawSocket(node.port) as client:
        return client.is_alive()


def test_a_flood_of_connections_passes(node: HeadraceNode) -> None:
    for _ in range(20):
        with ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(RawSocket(node.port))
    assert _answers(node)


def _large_batch() -> bytes:
    from headrace.records.builder import build_batch
    from headrace.records.record import Record

    return bytes(build_batch([Record(0, 0, None, bytes(1_000_000), ())]))
