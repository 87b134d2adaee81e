"""The REST proxy beside our own schema registry, both run from the command line."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing import EmbeddedKafka
from tests.clients.rest import Rest, v2
from tests.support.headrace_node import HEADRACE
from tests.support.schema_registry import SchemaRegistry

SCHEMAS = {
    "avro": '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}',
    "jsonschema": '{"title":"Order","type":"object","properties":{"id":{"type":"integer"}}}',
    "protobuf": 'syntax = "proto3"; message Order { int32 id = 1; }',
}


@pytest.fixture(scope="module")
def rest(node: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    directory: Path = tmp_path_factory.mktemp("rest")
    with SchemaRegistry(directory, node.bootstrap_servers) as registry:
        file = directory / "kafka-rest.properties"
        file.write_text(
            f"listeners=http://127.0.0.1:0\nbootstrap.servers={node.bootstrap_servers}\n"
            f"schema.registry.url={registry.url}\n"
        )
        command = [*HEADRACE, "rest-proxy", "start", str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            client = Rest(child.stdout.readline().split()[5])
            yield client
            client.close()
            child.terminate()
            assert child.wait(30) in (0, -15)


@pytest.mark.parametrize("embedded", SCHEMAS)
def test_what_is_produced_with_a_schema_is_consumed_by_it(
    rest: Rest, node: EmbeddedKafka, embedded: str
) -> None:
    topic = node.topic()
    records = [{"value": {"id": number}} for number in range(3)]
    answer = rest.produce(topic, embedded, records, value_schema=SCHEMAS[embedded])
    assert answer.status_code == 200, answer.text
    path = rest.instance(f"readers-{topic}", format=embedded)
    rest.ask("POST", f"{path}/subscription", {"topics": [topic]})
    assert [one["value"]["id"] for one in rest.records(path, embedded, 3)] == [0, 1, 2]
    rest.ask("DELETE", path)


def test_a_schema_that_breaks_the_subject_is_refused_and_nothing_is_sent(
    rest: Rest, node: EmbeddedKafka
) -> None:
    topic = node.topic()
    rest.produce(topic, "avro", [{"value": {"id": 1}}], value_schema=SCHEMAS["avro"])
    broken = SCHEMAS["avro"].replace('"int"', '"string"')
    body = {"value_schema": broken, "records": [{"value": {"id": "x"}}]}
    assert rest.error("POST", f"/topics/{topic}", body, kind=v2("avro")) == (422, 42207)
    answer = rest.ask("GET", f"/topics/{topic}/partitions/0/offsets")
    assert answer.json()["end_offset"] == 1
