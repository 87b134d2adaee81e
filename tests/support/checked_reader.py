"""Reads a partition batch by batch and checks every checksum; survives whatever is served."""

from collections.abc import Iterable
from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from headrace.records.batch import check_batch, iter_headers
from headrace.records.reader import read_batch
from tests.support.node import Node

#: The last version that names topics instead of giving their ids.
FETCH_VERSION = 12


class Read(NamedTuple):
    """A record out of a batch whose checksum is right."""

    offset: int
    key: bytes | None
    value: bytes | None


def fetch_once(
    client: KafkaClient, topic: str, offset: int, *, max_bytes: int = 1_000_000
) -> tuple[ErrorCode, int, bytes]:
    """One fetch from partition 0: error, high watermark, and the bytes of its batches."""
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=topic, partitions=[asked])],
    )
    answer = client.any_node().call(request, FetchResponse, version=FETCH_VERSION)
    (partition,) = answer.responses[0].partitions
    records = bytes(partition.records or b"")
    return ErrorCode(partition.error_code), partition.high_watermark, records


def read_checked(node: Node, topic: str) -> tuple[list[Read], str | None]:
    """Records from the beginning, and what ended it before the high watermark, if anything did."""
    found: list[Read] = []
    offset = 0
    with _client(node) as client:
        while True:
            code, high_watermark, data = fetch_once(client, topic, offset)
            if code is not ErrorCode.NONE:
                return found, code.name
            if offset >= high_watermark:
                return found, None
            before = offset
            try:
                for position, header in iter_headers(data):
                    check_batch(data, position, header)
                    records = read_batch(data, position)
                    found += [Read(r.offset, r.key, r.value) for r in records if r.offset >= offset]
                    offset = header.next_offset
            except KafkaError as error:
                return found, error.code.name
            if offset <= before:
                return found, "no progress"


def not_found(node: Node, topic: str, offsets: Iterable[int]) -> list[int]:
    """Offsets whose batch does not come first for a reader that begins there."""
    missed = []
    with _client(node) as client:
        for offset in offsets:
            code, _, data = fetch_once(client, topic, offset, max_bytes=1)
            first = next((header for _, header in iter_headers(data)), None)
            if code or first is None or not first.base_offset <= offset <= first.last_offset:
                missed.append(offset)
    return missed


def _client(node: Node) -> KafkaClient:
    host, _, port = node.bootstrap.rpartition(":")
    return KafkaClient(ClientConfig(bootstrap=((host, int(port)),)))
