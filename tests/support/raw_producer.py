"""A producer that says its id, epoch and sequence numbers itself, as retries and bugs would."""

import time
from types import TracebackType
from typing import NamedTuple, Self

from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from headrace.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.record import Record

#: The last version that names topics instead of giving their ids.
PRODUCE_VERSION = 12


class Produced(NamedTuple):
    """The answer for one partition."""

    error_code: int
    base_offset: int


class RawProducer:
    """Sends batches to one node, byte for byte as given."""

    def __init__(self, bootstrap: str, *, request_timeout_ms: int = 30_000) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._client = KafkaClient(
            ClientConfig(bootstrap=((host, int(port)),), request_timeout_ms=request_timeout_ms)
        )

    def new_producer_id(self) -> int:
        """An id that the cluster has given to nobody else; its epoch is 0."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)
        # Apache Kafka has to fetch a block of ids first and asks for patience meanwhile.
        response = self._client.admin(request, InitProducerIdResponse)
        assert response.producer_epoch == 0
        return response.producer_id

    def send(
        self, topic: str, batch: bytes | bytearray, *, acks: int = -1, partition: int = 0
    ) -> Produced:
        """Append bytes to one partition."""
        request = ProduceRequest(
            acks=acks,
            timeout_ms=10_000,
            topic_data=[
                TopicProduceData(
                    name=topic,
                    partition_data=[PartitionProduceData(index=partition, records=bytes(batch))],
                )
            ],
        )
        response = self._client.any_node().call(request, ProduceResponse, version=PRODUCE_VERSION)
        (result,) = response.responses[0].partition_responses
        return Produced(result.error_code, result.base_offset)

    def send_sequence(
        self, topic: str, producer_id: int, sequence: int, count: int, *, epoch: int = 0
    ) -> Produced:
        """Records `sequence` and following of an idempotent producer."""
        return self.send(
            topic,
            numbered_batch(
                sequence,
                count,
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
            ),
        )

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def numbered_batch(
    first: int,
    count: int,
    *,
    codec: int = Codec.NONE,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytearray:
    """Records with the keys kN and the values vN, of now: old producers are forgotten."""
    now_ms = int(time.time() * 1000)
    records = [
        Record(offset, now_ms, b"k%d" % n, b"v%d" % n, ())
        for offset, n in enumerate(range(first, first + count))
    ]
    return build_batch(
        records,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )
