"""Hundreds of clients that read a byte a second, or nothing, for minutes."""

import struct
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from headrace.records.builder import build_batch
from headrace.records.record import Record
from tests.support.headrace_node import HeadraceNode
from tests.support.memory import forget_peak, peak_bytes
from tests.support.probe import Probe
from tests.support.raw_producer import RawProducer
from tests.support.raw_socket import HARMLESS, RawSocket, request
from tests.support.workload import create_topic

_MIB = 1024 * 1024
_SECONDS = 120
_TOPIC = b"slowly-read"


def _fetch() -> bytes:
    """Fetch version 4: everything from offset 0, up to 8 MB in one answer."""
    body = struct.pack(">iiiib", -1, 0, 1, 8 * _MIB, 0)
    body += struct.pack(">ih", 1, len(_TOPIC)) + _TOPIC + struct.pack(">iiqi", 1, 0, 0, 8 * _MIB)
    return request(1, 4, body)


@pytest.mark.timeout(_SECONDS + 120)
def test_slow_readers_cost_no_memory_and_no_other_client(tmp_path: Path) -> None:
    with HeadraceNode(tmp_path / "data") as node, Probe(node) as probe, ExitStack() as stack:
        create_topic(node, _TOPIC.decode())
        batch = bytes(build_batch([Record(0, 0, None, bytes(1_000_000), ())]))
        with RawProducer(node.bootstrap) as producer:
            for _ in range(8):
                assert producer.send(_TOPIC.decode(), batch).error_code == 0
        before = forget_peak(node.pid)
        slow = [stack.enter_context(RawSocket(node.port, receive_buffer=4096)) for _ in range(250)]
        silent = [stack.enter_context(RawSocket(node.port)) for _ in range(250)]
        for client in slow:
            client.send(_fetch() * 3)
        for number, client in enumerate(silent):
            client.send(HARMLESS[: number % len(HARMLESS)])
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            for client in slow:
                client.read_some(1)
            probe.must_progress()
            time.sleep(1)
        assert peak_bytes(node.pid) - before < 64 * _MIB
