"""What the measuring tools share: confluent-kafka with settings under Java's names."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import ModuleType

from headrace.cli.connecting import parse_property_options, read_command_config
from headrace.cli.failure import CommandFailedError

#: Settings of the Java clients that librdkafka knows under another name.
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "sasl.mechanism": "sasl.mechanisms",
}
#: Settings that make no sense outside of Java, or that librdkafka decides itself.
_JAVA_ONLY = (
    "key.serializer",
    "value.serializer",
    "key.deserializer",
    "value.deserializer",
    "max.block.ms",
    "max.poll.records",
    "metric.reporters",
)


def load_library() -> ModuleType:
    """confluent-kafka, or one sentence on how to get it."""
    try:
        import confluent_kafka
    except ImportError:
        raise CommandFailedError(
            "This tool measures with confluent-kafka, which is not installed:"
            " pip install 'headrace[clients]'"
        ) from None
    return confluent_kafka


def librdkafka_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The same settings as librdkafka takes them."""
    translated = {}
    for name, value in settings.items():
        if name in _JAVA_ONLY:
            continue
        if name == "buffer.memory":
            translated["queue.buffering.max.kbytes"] = str(max(int(value) // 1024, 1))
        else:
            translated[_RENAMED.get(name, name)] = value
    return translated


def collect_settings(args: argparse.Namespace, properties: list[str] | None) -> dict[str, str]:
    """Properties file first, then `name=value` options, then `--bootstrap-server`."""
    from headrace.cli.connecting import client_config
    from headrace.client.connection import format_address

    settings = read_command_config(args.command_config) | parse_property_options(properties)
    bootstrap = client_config(args, "headrace-perf", settings).bootstrap
    settings["bootstrap.servers"] = ",".join(map(format_address, bootstrap))
    return settings


def percentile(ordered: list[float], share: float) -> int:
    """The value below which that share lies, in whole milliseconds; `ordered` is sorted."""
    if not ordered:
        return 0
    return int(ordered[min(int(share * len(ordered)), len(ordered) - 1)])
