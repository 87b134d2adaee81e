"""`headrace console-producer`: Kafka's `kafka-console-producer.sh`."""

from __future__ import annotations

import argparse
import sys
import time

from headrace.base.errors import KafkaError
from headrace.cli.connecting import (
    add_bootstrap_server,
    client_config,
    parse_property_options,
    read_command_config,
)
from headrace.cli.failure import CommandFailedError, UsageError, describe
from headrace.cli.input_lines import read_lines
from headrace.cli.line_reader import LineReader
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfigError, whole_number
from headrace.client.producing import ProducerConfig, RecordSender
from headrace.records.codecs import Codec
from headrace.records.record import Record

_CODECS = {codec.name.lower(): codec for codec in Codec}
_ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}
_LINE_READERS = ("org.apache.kafka.tools.LineMessageReader", "kafka.tools.LineMessageReader")

#: Producer settings that have an option of their own, with the tool's default.
_OPTIONS = {
    "batch-size": ("batch.size", "16384", "bytes of a partition's batch"),
    "max-partition-memory-bytes": ("batch.size", None, "deprecated: use --batch-size"),
    "request-required-acks": ("acks", "-1", "acknowledgements to wait for: 0, 1 or all (-1)"),
    "request-timeout-ms": ("request.timeout.ms", "1500", "how long to wait for them"),
    "timeout": ("linger.ms", "1000", "how long a record may wait for others, in ms"),
    "retry-backoff-ms": ("retry.backoff.ms", "100", "pause before a retry"),
    "max-block-ms": ("max.block.ms", "60000", "how long to wait for the topic"),
    "message-send-max-retries": ("retries", "3", "accepted; retries end with the time-outs"),
    "max-memory-bytes": ("buffer.memory", "33554432", "accepted; a batch is all that is held"),
    "metadata-expiry-ms": ("metadata.max.age.ms", "300000", "accepted; errors renew metadata"),
    "socket-buffer-size": ("send.buffer.bytes", "102400", "accepted; the system's is used"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_bootstrap_server(parser, "--broker-list")
    add = parser.add_argument
    add("--topic", required=True, help="the topic to send to")
    add("--sync", action="store_true", help="send each line at once and wait for it")
    add(
        "--compression-codec",
        nargs="?",
        const="gzip",
        metavar="CODEC",
        help="none, gzip, snappy, lz4 or zstd; gzip if no value is given",
    )
    for option, (setting, default, what) in _OPTIONS.items():
        text = f"{what} ({setting}, default: {default})" if default else what
        add(f"--{option}", metavar="VALUE", help=text)
    for names, what in (
        (("--reader-property", "--property"), "of the line reader: parse.key, key.separator, ..."),
        (("--command-property", "--producer-property"), "of the producer"),
    ):
        add(*names, action="append", metavar="NAME=VALUE", help=f"a property {what}")
    add("--reader-config", metavar="FILE", help="properties file of the line reader")
    add("--command-config", "--producer.config", metavar="FILE", help="properties file")
    add(
        "--line-reader",
        default=_LINE_READERS[0],
        metavar="CLASS",
        help=f"what makes records of lines; there is {_LINE_READERS[0]}",
    )


def run(args: argparse.Namespace) -> int:
    reader = _line_reader(args)
    settings = producer_settings(args)
    config = client_config(args, "console-producer", settings)
    failures: list[KafkaError] = []

    def on_error(records: list[Record], error: KafkaError) -> None:
        failures.append(error)
        print(
            f"Error when sending {len(records)} messages to topic {args.topic}: {describe(error)}",
            file=sys.stderr,
        )

    with KafkaClient(config) as client:
        sender = RecordSender(client, args.topic, producer_config(settings), on_error)
        _send_lines(args, reader, sender, linger_ms(settings))
    return 1 if failures else 0


def _line_reader(args: argparse.Namespace) -> LineReader:
    """Lines of text, or of JSON to be written with a schema."""
    from headrace.cli.registry_formats import RegistryLineReader, is_registry_reader

    properties = read_command_config(args.reader_config)
    properties |= parse_property_options(args.reader_property)
    if is_registry_reader(args.line_reader, properties):
        return RegistryLineReader(args.line_reader, properties, args.topic)
    if args.line_reader not in _LINE_READERS:
        raise CommandFailedError(
            f"--line-reader {args.line_reader} is a Java class; only lines of text are supported."
        )
    return LineReader(properties)


def _send_lines(
    args: argparse.Namespace, reader: LineReader, sender: RecordSender, linger_ms: int
) -> None:
    has_prompt = sys.stdin.isatty() and sys.stdout.isatty()
    is_started = False
    try:
        _prompt(has_prompt)
        for line in read_lines(sys.stdin.fileno(), 0 if args.sync else linger_ms):
            if line is None:
                sender.flush()
                continue
            if not is_started:
                sender.start(_once(f"Topic {args.topic} does not exist yet, waiting for it ..."))
                is_started = True
            record = reader.parse(line)
            now_ms = time.time_ns() // 1_000_000
            sender.send(record.key, record.value, record.headers, timestamp=now_ms)
            if args.sync:
                sender.flush()
            _prompt(has_prompt)
    finally:
        # What was typed before Ctrl-C or a bad line is sent, as Kafka's producer does on close.
        sender.flush()


def _prompt(has_prompt: bool) -> None:
    if has_prompt:
        print(">", end="", flush=True)


class _once:  # noqa: N801 - reads as a function
    """A callback that prints its text the first time only."""

    def __init__(self, text: str) -> None:
        self._text: str | None = text

    def __call__(self) -> None:
        if self._text is not None:
            print(self._text, file=sys.stderr)
            self._text = None


def producer_settings(args: argparse.Namespace) -> dict[str, str]:
    """Kafka's order: options given, then properties, then the file, then the tool's defaults."""
    settings = read_command_config(args.command_config)
    settings |= parse_property_options(args.command_property)
    for option, (setting, default, _) in _OPTIONS.items():
        given = getattr(args, option.replace("-", "_"))
        if given is not None:
            settings[setting] = given
        elif default is not None:
            settings.setdefault(setting, default)
    if args.compression_codec is not None:
        settings["compression.type"] = args.compression_codec
    return settings


def producer_config(settings: dict[str, str]) -> ProducerConfig:
    acks = settings["acks"].strip().lower()
    codec = settings.get("compression.type", "none").strip().lower()
    if acks not in _ACKS:
        raise UsageError(f"Invalid value {acks} for acks: it is 0, 1 or all.")
    if codec not in _CODECS:
        raise UsageError(f"Unknown compression codec {codec}: it is one of {', '.join(_CODECS)}.")
    return ProducerConfig(
        acks=_ACKS[acks],
        codec=_CODECS[codec],
        batch_size=_number(settings, "batch.size"),
        request_timeout_ms=_number(settings, "request.timeout.ms"),
        max_block_ms=_number(settings, "max.block.ms"),
    )


def linger_ms(settings: dict[str, str]) -> int:
    """How long a record may wait for others to go with it."""
    return _number(settings, "linger.ms")


def _number(settings: dict[str, str], name: str) -> int:
    try:
        return whole_number(name, settings[name])
    except ClientConfigError as error:
        raise UsageError(str(error)) from error
