"""The console tools with schemas: what one writes the other prints."""

import pytest

from headrace.testing import EmbeddedKafka
from tests.support.headrace_node import headrace
from tests.support.small_registry import SmallRegistry, small_registry

AVRO = """{"type":"record","name":"R","fields":
 [{"name":"id","type":"int"},{"name":"n","type":["null","string"]}]}"""
JSON_SCHEMA = '{"type":"object","properties":{"id":{"type":"integer"}}}'
PROTOBUF = 'syntax = "proto3"; message R { int32 id = 1; }'


@pytest.mark.parametrize(
    ("reader", "schema", "formatter", "line", "shown"),
    [
        (
            "io.confluent.kafka.formatter.AvroMessageReader",
            AVRO,
            "io.confluent.kafka.formatter.AvroMessageFormatter",
            '{"id": 1, "n": {"string": "ü"}}',
            '{"id":1,"n":{"string":"ü"}}',
        ),
        ("jsonschema", JSON_SCHEMA, "jsonschema", '{"id": 1}', '{"id":1}'),
        ("protobuf", PROTOBUF, "protobuf", '{"id": 1}', '{"id":1}'),
    ],
    ids=["avro", "jsonschema", "protobuf"],
)
def test_lines_are_written_with_a_schema_and_printed_by_it(
    node: EmbeddedKafka, reader: str, schema: str, formatter: str, line: str, shown: str
) -> None:
    topic = node.topic()
    with small_registry() as registry:
        common = ("--bootstrap-server", node.bootstrap_servers, "--topic", topic, "--property")
        url = f"schema.registry.url={registry.url}"
        headrace(
            "console-producer", *common, url, "--property", f"value.schema={schema}",
            "--line-reader", reader, stdin=f"{line}\n{line}\n",
        )  # fmt: skip
        assert list(registry.subjects) == [f"{topic}-value"]
        by_id = headrace(
            "console-producer", *common, url, "--property", "value.schema.id=1",
            stdin=f"{line}\n",
        )  # fmt: skip
        assert by_id.returncode == 0
        printed = headrace(
            "console-consumer", *common, url, "--formatter", formatter,
            "--from-beginning", "--max-messages", "3",
        )  # fmt: skip
    assert printed.stdout.splitlines() == [shown] * 3


def test_keys_with_a_schema_and_a_deserializer_by_name(node: EmbeddedKafka) -> None:
    topic = node.topic()
    with small_registry() as registry:
        common = ("--bootstrap-server", node.bootstrap_servers, "--topic", topic, "--property")
        url = f"schema.registry.url={registry.url}"
        headrace(
            "console-producer", *common, url,
            "--property", "parse.key=true", "--property", "key.separator=|",
            "--property", 'key.schema="long"', "--property", 'value.schema="string"',
            stdin='5|"five"\n',
        )  # fmt: skip
        printed = headrace(
            "console-consumer", *common, url, "--property", "print.key=true",
            "--key-deserializer", "io.confluent.kafka.serializers.KafkaAvroDeserializer",
            "--value-deserializer", "avro", "--from-beginning", "--max-messages", "1",
        )  # fmt: skip
    assert printed.stdout == '5\t"five"\n'


def test_what_does_not_fit_ends_the_producer_with_a_sentence(node: EmbeddedKafka) -> None:
    topic = node.topic()
    with small_registry() as registry:
        done = _produce(node, topic, registry, '{"id": "x", "n": null}\n')
    assert "field id holds 'x', not int" in done
    assert "Traceback" not in done


def test_a_record_without_a_schema_ends_the_consumer_with_a_sentence(node: EmbeddedKafka) -> None:
    topic = node.topic()
    common = ("--bootstrap-server", node.bootstrap_servers, "--topic", topic)
    headrace("console-producer", *common, stdin="plain text\n")
    with small_registry() as registry:
        done = headrace(
            "console-consumer", *common, "--property", f"schema.registry.url={registry.url}",
            "--from-beginning", "--max-messages", "1", check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert "begins with byte 0x70 instead of the magic byte 0x00" in done.stderr


def _produce(node: EmbeddedKafka, topic: str, registry: SmallRegistry, text: str) -> str:
    done = headrace(
        "console-producer", "--bootstrap-server", node.bootstrap_servers, "--topic", topic,
        "--property", f"schema.registry.url={registry.url}",
        "--property", f"value.schema={AVRO}",
        stdin=text, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    return done.stderr
