"""One partition's batch on its way from a Produce request into the log."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.preparation import Preparation, Prepared
from headrace.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
)
from headrace.protocol.schema import RecordBytes
from headrace.records.batch import LOG_OVERHEAD, BatchHeader
from headrace.records.codecs import Codec
from headrace.records.produced import check_produce
from headrace.replication.partition import Partition

_CODEC_NAMES = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


class ProducedBatch:
    """A batch, its header once read, and what became of it."""

    __slots__ = ("failure", "header", "last_offset", "partition", "records", "result")

    header: BatchHeader

    def __init__(
        self, partition: Partition, records: RecordBytes | None, result: PartitionProduceResponse
    ) -> None:
        self.partition = partition
        self.records = records if isinstance(records, memoryview) else memoryview(records or b"")
        self.result = result
        self.failure: KafkaError | None = None
        self.last_offset = -1

    def check_header(self, now_ms: int) -> BatchHeader:
        """Everything that Kafka checks and the header tells."""
        header = check_batch_for(self.partition, self.records, now_ms)
        size = header.batch_length + LOG_OVERHEAD
        if size != len(self.records):
            self.records = self.records[:size]
        self.header = header
        return header

    def _target_codec(self) -> Codec | None:
        """The codec to convert to, if the topic wants another one than the producer used."""
        wanted = self.partition.log.config.compression_type
        if wanted == "producer":
            return None
        codec = _CODEC_NAMES[wanted]
        return None if codec == self.header.codec else codec

    def preparation(self, now_ms: int) -> Preparation:
        """What has to be done to the records themselves before the append."""
        log = self.partition.log
        config = log.config
        codec = self._target_codec()
        level = None
        if codec is not None:
            level = {
                Codec.GZIP: config.compression_gzip_level,
                Codec.LZ4: config.compression_lz4_level,
                Codec.ZSTD: config.compression_zstd_level,
            }.get(codec)
        between = (now_ms - log.behind_max_ms, now_ms + log.ahead_max_ms)
        return Preparation(bytes(self.records), config.compact, codec, level, between)

    def prepared(self, outcome: Prepared) -> None:
        """Take over what the preparation found."""
        self.failure = outcome.failure
        self.result.record_errors = [
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
            for index, message in outcome.record_errors
        ]
        if outcome.batch is not None:
            converted = bytearray(outcome.batch)
            self.records = memoryview(converted)
            self.header = BatchHeader(converted, 0)
            # Another codec may have made it larger.
            if len(converted) > self.partition.log.config.max_message_bytes:
                self.failure = _too_large(self.partition, len(converted))


def check_batch_for(partition: Partition, records: memoryview, now_ms: int) -> BatchHeader:
    """Check what a client wants appended to a partition, as far as the batch's header tells."""
    header = check_produce(records)
    log = partition.log
    size = header.batch_length + LOG_OVERHEAD
    if size > log.max_message_bytes:
        raise _too_large(partition, size)
    if header.max_timestamp >= 0 and (
        header.max_timestamp - now_ms > log.ahead_max_ms
        or now_ms - header.base_timestamp > log.behind_max_ms
    ):
        raise KafkaError(
            ErrorCode.INVALID_TIMESTAMP,
            f"Timestamp {header.max_timestamp} of message is out of range for"
            f" {partition.topic}-{partition.index}.",
        )
    return header


def _too_large(partition: Partition, size: int) -> KafkaError:
    return KafkaError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The record batch size in the append to {partition.topic}-{partition.index} is {size}"
        f" bytes which exceeds the maximum configured value of"
        f" {partition.log.config.max_message_bytes}.",
    )
