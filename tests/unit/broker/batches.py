"""Produce, fetch and offset requests in few words."""

from typing import Any

from headrace.base.errors import ErrorCode
from headrace.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
)
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from headrace.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from headrace.records.batch import (
    BatchHeader,
    check_batch,
    iter_headers,
    read_header,
    stamp_crc,
)
from headrace.records.builder import build_batch
from headrace.records.reader import read_records
from headrace.records.record import Record
from tests.unit.broker.frames import Exchange
from tests.unit.broker.harness import Broker

#: The newest version that names topics rather than identifying them.
PRODUCE_BY_NAME = 12
FETCH_BY_NAME = 12
NOW = 1_700_000_000_000


def records(
    count: int = 1, *, key: bytes | None = b"key", value: bytes = b"value", timestamp: int = NOW
) -> list[Record]:
    return [
        Record(number, timestamp + number, key, b"%d " % number + value, [])
        for number in range(count)
    ]


def batch(count: int = 1, **options: Any) -> bytearray:
    """A batch as a client sends it; options of `records` or of `build_batch`."""
    own = {name: options.pop(name) for name in ("key", "value", "timestamp") if name in options}
    return build_batch(records(count, **own), **options)


def produce_request(
    *batches: tuple[str, int, bytes | bytearray | None], acks: int = 1, timeout_ms: int = 1_000
) -> ProduceRequest:
    """(topic, partition, records) each; neighbours of one topic share its entry."""
    request = ProduceRequest(acks=acks, timeout_ms=timeout_ms)
    for topic, index, data in batches:
        if not request.topic_data or request.topic_data[-1].name != topic:
            request.topic_data.append(TopicProduceData(name=topic))
        request.topic_data[-1].partition_data.append(
            PartitionProduceData(index=index, records=data)
        )
    return request


def produce(
    broker: Broker,
    data: bytes | bytearray | None,
    topic: str = "t",
    index: int = 0,
    *,
    acks: int = 1,
    version: int = PRODUCE_BY_NAME,
) -> PartitionProduceResponse:
    """Produce to one partition and return its result."""
    response = broker.ask(produce_request((topic, index, data), acks=acks), version)
    result: PartitionProduceResponse = response.responses[0].partition_responses[0]
    return result


def fetch_request(
    *positions: tuple[str | bytes, int, int],
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_bytes: int = 1 << 20,
    **options: Any,
) -> FetchRequest:
    """(topic name or id, partition, offset) each."""
    request = FetchRequest(
        max_wait_ms=max_wait_ms, min_bytes=min_bytes, max_bytes=max_bytes, **options
    )
    for topic, index, offset in positions:
        named = FetchTopic(topic=topic) if isinstance(topic, str) else FetchTopic(topic_id=topic)
        if not request.topics or (
            (request.topics[-1].topic, request.topics[-1].topic_id) != (named.topic, named.topic_id)
        ):
            request.topics.append(named)
        request.topics[-1].partitions.append(
            FetchPartition(
                partition=index, fetch_offset=offset, partition_max_bytes=partition_bytes
            )
        )
    return request


def send_fetch(
    broker: Broker, *positions: tuple[str | bytes, int, int], **options: Any
) -> Exchange:
    version = options.pop("version", FETCH_BY_NAME)
    return broker.send(fetch_request(*positions, **options), version)


def fetch(
    broker: Broker, offset: int = 0, topic: str | bytes = "t", index: int = 0, **options: Any
) -> PartitionData:
    """Fetch from one partition and return its part of the response."""
    response = send_fetch(broker, (topic, index, offset), **options).response
    data: PartitionData = response.responses[0].partitions[0]
    return data


def partitions_of(response: Any) -> dict[tuple[str | bytes, int], PartitionData]:
    """What a fetch response has, by topic (name or id) and partition."""
    return {
        (topic.topic or topic.topic_id, data.partition_index): data
        for topic in response.responses
        for data in topic.partitions
    }


def values(data: PartitionData) -> list[bytes | None]:
    return [record.value for record in read_records(data.records or b"")]


def offsets(data: PartitionData) -> list[int]:
    """The first offset of each batch."""
    return [header.base_offset for _, header in iter_headers(data.records or b"")]


def list_offset(
    broker: Broker, timestamp: int, *, version: int = 11, index: int = 0, **options: Any
) -> ListOffsetsPartitionResponse:
    epoch = options.pop("current_leader_epoch", -1)
    topic_name = options.pop("topic", "t")
    partition = ListOffsetsPartition(
        partition_index=index, timestamp=timestamp, current_leader_epoch=epoch
    )
    topic = ListOffsetsTopic(name=topic_name, partitions=[partition])
    response = broker.ask(ListOffsetsRequest(topics=[topic], **options), version)
    result: ListOffsetsPartitionResponse = response.topics[0].partitions[0]
    return result


def fill(broker: Broker, *counts: int, topic: str = "t", index: int = 0) -> None:
    """A batch with each count of records."""
    for count in counts:
        assert produce(broker, batch(count), topic, index).error_code == ErrorCode.NONE


def stored(broker: Broker, topic: str = "t", index: int = 0) -> list[BatchHeader]:
    """The batches of a partition, each one sound."""
    log = broker.partition(topic, index).log
    found = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, 1, end_offset=log.log_end_offset)
        header = read_header(data)
        check_batch(data, 0, header)
        found.append(header)
        offset = header.next_offset
    return found


def end_offset(broker: Broker, topic: str = "t", index: int = 0) -> int:
    return broker.partition(topic, index).log.log_end_offset


def damaged(data: bytearray, position: int, value: int, *, sound_crc: bool = False) -> bytearray:
    data[position] = value
    if sound_crc:
        stamp_crc(data, 0, len(data))
    return data
