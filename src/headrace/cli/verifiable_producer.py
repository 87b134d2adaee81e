"""`headrace verifiable-producer`: Kafka's `kafka-verifiable-producer.sh`.

It sends increasing numbers and tells of each, as a line of JSON, whether it was acknowledged.
"""

from __future__ import annotations

import argparse
import time

from headrace.base.errors import KafkaError
from headrace.cli.connecting import add_bootstrap_server, open_client, read_command_config
from headrace.cli.console_producer import linger_ms, producer_config
from headrace.cli.consumer_groups_errors import java_text, sentence
from headrace.cli.verifiable_events import StopSignal, emit
from headrace.client.blocking import KafkaClient
from headrace.client.leaders import TopicPartition
from headrace.client.producing import RecordSender
from headrace.records.record import Record

#: What holds where neither an option nor the file says otherwise; Kafka's defaults.
_DEFAULTS = {
    "batch.size": "16384",
    "linger.ms": "5",
    "max.block.ms": "60000",
    "request.timeout.ms": "30000",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_bootstrap_server(parser, "--broker-list")
    add = parser.add_argument
    add("--topic", required=True, help="the topic to send to")
    add("--max-messages", type=int, default=-1, metavar="N", help="how many (default: no end)")
    add("--throughput", type=int, default=-1, metavar="N", help="about so many a second")
    add("--acks", type=int, default=-1, choices=(0, 1, -1), help="acknowledgements to wait for")
    add("--command-config", "--producer.config", metavar="FILE", help="properties file")
    add("--message-create-time", type=int, default=-1, metavar="MS", help="time of the records")
    add("--value-prefix", type=int, metavar="N", help="put this and a dot before each value")
    add("--repeating-keys", type=int, metavar="N", help="keys from 0 to N-1, again and again")


def run(args: argparse.Namespace) -> int:
    # The file goes before --acks, as it does in Kafka's tool.
    settings = _DEFAULTS | {"acks": str(args.acks)} | read_command_config(args.command_config)
    with open_client(args, "verifiable-producer", settings) as client, StopSignal() as stop:
        producer = VerifiableProducer(client, args, settings)
        start = time.monotonic()
        try:
            producer.run(stop)
        finally:
            emit("shutdown_complete")
            seconds = max(time.monotonic() - start, 0.001)
            emit(
                "tool_data",
                sent=producer.sent,
                acked=producer.acked,
                target_throughput=args.throughput,
                avg_throughput=producer.acked / seconds,
            )
    return 0


class VerifiableProducer:
    """One run of the tool."""

    def __init__(
        self, client: KafkaClient, args: argparse.Namespace, settings: dict[str, str]
    ) -> None:
        self._args = args
        self._linger_seconds = linger_ms(settings) / 1000
        config = producer_config(settings)
        self._sender = RecordSender(client, args.topic, config, self._failed, self._acked)
        self.sent = 0
        self.acked = 0

    def run(self, stop: StopSignal) -> None:
        emit("startup_complete")
        self._sender.start()
        start = flushed = time.monotonic()
        number = 0
        while not stop.is_set and number != self._args.max_messages:
            self._send(number)
            number += 1
            now = time.monotonic()
            if now >= flushed + self._linger_seconds:
                self._sender.flush()
                flushed = time.monotonic()
            if self._args.throughput > 0:
                self._slow_down(number, start)
        self._sender.flush()

    def _slow_down(self, number: int, start: float) -> None:
        early = start + number / self._args.throughput - time.monotonic()
        if early > 0:
            self._sender.flush()
            time.sleep(early)

    def _send(self, number: int) -> None:
        args = self._args
        value = f"{number}" if args.value_prefix is None else f"{args.value_prefix}.{number}"
        key = str(number % args.repeating_keys).encode() if args.repeating_keys else None
        now_ms = time.time_ns() // 1_000_000
        timestamp = args.message_create_time + number if args.message_create_time >= 0 else now_ms
        self.sent += 1
        self._sender.send(key, value.encode(), timestamp=timestamp)

    def _acked(self, partition: TopicPartition, rows: list[Record], base_offset: int) -> None:
        for position, record in enumerate(rows):
            self.acked += 1
            emit(
                "producer_send_success",
                key=_text(record.key),
                value=_text(record.value),
                topic=partition[0],
                partition=partition[1],
                offset=base_offset + position if base_offset >= 0 else -1,
            )

    def _failed(self, rows: list[Record], error: KafkaError) -> None:
        for record in rows:
            emit(
                "producer_send_error",
                key=_text(record.key),
                value=_text(record.value),
                topic=self._args.topic,
                exception=f"class {java_text(error).partition(':')[0]}",
                message=sentence(error),
            )


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()
