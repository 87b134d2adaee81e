"""The registry's HTTP interface: paths, parameters, error codes, and input that is bad."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from headrace.testing import EmbeddedKafka
from tests.support.schema_registry import Answer, SchemaRegistry

TOPIC = "_schemas_http"
SET = AlterConfigOpType.SET


@pytest.fixture(scope="module")
def registry(
    node: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchemaRegistry]:
    settings = {"kafkastore_topic": TOPIC, "schema_registry_group_id": "http"}
    directory = tmp_path_factory.mktemp("registry")
    with SchemaRegistry(directory, node.bootstrap_servers, **settings) as running:
        yield running


def refused(answer: Answer) -> tuple[int, int]:
    assert set(answer.body) == {"error_code", "message"}, answer
    assert "Traceback" not in answer.body["message"]
    return answer.status, answer.body["error_code"]


def test_names_are_the_same_in_paths_with_and_without_a_context(registry: SchemaRegistry) -> None:
    registry.register(":.team:orders", '"int"')
    ask = registry.ask
    assert ask("GET", "/contexts").body == [".", ".team"]
    assert ask("GET", "/contexts/.team/subjects").body == [":.team:orders"]
    assert ask("GET", "/contexts/team/subjects/orders/versions").body == [1]
    inside = ask("GET", "/contexts/.team/subjects/orders/versions/latest").body
    assert inside == ask("GET", "/subjects/:.team:orders/versions/1").body
    assert ask("GET", f"/contexts/.team/schemas/ids/{inside['id']}").body["schema"] == '"int"'
    assert ask("PUT", "/contexts/.team/config", {"compatibility": "NONE"}).status == 200
    path = "/config/:.team:orders?defaultToGlobal=true"
    assert ask("GET", path).body["compatibilityLevel"] == "NONE"
    # A bare name is looked for in every context.
    assert ask("GET", "/subjects/orders/versions/1").body["subject"] == ":.team:orders"


def test_lists_come_in_pages_and_by_prefix(registry: SchemaRegistry) -> None:
    for name in ("p-1", "p-2", "p-3"):
        registry.register(name, '"string"')
    ask = registry.ask
    assert ask("GET", "/subjects?subjectPrefix=p-&offset=1&limit=1").body == ["p-2"]
    rows = ask("GET", "/schemas?subjectPrefix=p-&latestOnly=true").body
    assert [row["subject"] for row in rows] == ["p-1", "p-2", "p-3"]
    assert ask("GET", "/exporters").body == []


def test_a_schema_alone_is_not_quoted(registry: SchemaRegistry) -> None:
    text = '{"type":"map","values":"long"}'
    id_ = registry.register("alone", text)
    assert registry.ask("GET", f"/schemas/ids/{id_}/schema").body == json.loads(text)
    assert registry.ask("GET", "/subjects/alone/versions/1/schema").body == json.loads(text)
    assert registry.ask("GET", f"/schemas/ids/{id_}/versions").body == [
        {"subject": "alone", "version": 1}
    ]


def test_metadata_and_rules_are_stored_and_found(registry: SchemaRegistry) -> None:
    rule = {"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true"}
    fields = {
        "metadata": {"properties": {"owner": "ann"}, "tags": {"**.x": ["PII"]}},
        "ruleSet": {"domainRules": [rule]},
    }
    registry.register("ruled", '"string"', **fields, somethingNew={"x": 1})
    found = registry.ask("GET", "/subjects/ruled/metadata?key=owner&value=ann").body
    assert {name: found[name] for name in fields} == fields
    path = "/subjects/ruled/metadata?key=owner&value=bob"
    assert refused(registry.ask("GET", path)) == (404, 40403)
    bad = {"schema": '"int"', "ruleSet": {"domainRules": [{**rule, "mode": "UPGRADE"}]}}
    assert refused(registry.ask("POST", "/subjects/x/versions", bad)) == (422, 42210)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, 404),
        ("PATCH", "/subjects", 405, 405),
        ("GET", "/subjects/none/versions", 404, 40401),
        ("GET", "/subjects/none/versions/1", 404, 40401),
        ("GET", "/subjects/known/versions/9", 404, 40402),
        ("GET", "/subjects/known/versions/0", 422, 42202),
        ("GET", "/subjects/known/versions/one", 422, 42202),
        ("GET", "/subjects/known/versions/99999999999999999999", 422, 42202),
        ("GET", "/schemas/ids/123456", 404, 40403),
        ("GET", "/schemas/ids/abc", 404, 404),
        ("GET", "/schemas/ids/99999999999999999999", 404, 404),
        ("GET", "/schemas/guids/nothing", 404, 40403),
        ("GET", "/config/known", 404, 40408),
        ("GET", "/mode/known", 404, 40409),
        ("DELETE", "/subjects/none", 404, 40401),
        ("DELETE", "/subjects/known?permanent=true", 404, 40405),
        ("DELETE", "/config/known", 404, 40401),
        ("GET", "/subjects?offset=x", 404, 404),
        ("GET", "/subjects/%ff/versions", 400, 400),
    ],
)
def test_each_question_without_an_answer_has_its_code(
    registry: SchemaRegistry, method: str, path: str, status: int, code: int
) -> None:
    registry.register("known", '"boolean"')
    assert refused(registry.ask(method, path)) == (status, code)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, 400),
        (b"{", 400, 400),
        (b"[]", 400, 400),
        (b"\xff\xfe", 400, 400),
        (b"[" * 100_000, 400, 400),
        ({}, 422, 42201),
        ({"schema": 5}, 422, 42201),
        ({"schema": ""}, 422, 42201),
        ({"schema": '{"type": "recor'}, 422, 42201),
        ({"schema": "[" * 100_000}, 422, 42201),
        ({"schema": '{"type":"array","items":' * 500}, 422, 42201),
        ({"schema": '"int"', "schemaType": "XML"}, 422, 42201),
        ({"schema": '"int"', "references": 3}, 422, 42201),
        ({"schema": '"int"', "references": [{"name": "a"}]}, 422, 42201),
        (
            {"schema": '"int"', "references": [{"name": "a", "subject": "no", "version": 1}]},
            422,
            42201,
        ),
        ({"schema": '"int"', "id": 5}, 422, 42205),
        ({"schema": '"int"', "id": "x"}, 422, 422),
        ({"schema": '"int"', "metadata": 1}, 422, 422),
        ({"schema": "\x00", "schemaType": "PROTOBUF"}, 422, 42201),
        ({"schema": '{"$ref": "#/x"}', "schemaType": "JSON"}, 422, 42201),
    ],
)
def test_a_bad_registration_has_its_code_and_leaves_nothing(
    registry: SchemaRegistry, body: Any, status: int, code: int
) -> None:
    assert refused(registry.ask("POST", "/subjects/bad/versions", body)) == (status, code)
    assert refused(registry.ask("GET", "/subjects/bad/versions")) == (404, 40401)


def test_settings_that_are_none_have_their_codes(registry: SchemaRegistry) -> None:
    ask = registry.ask
    assert refused(ask("PUT", "/config", {"compatibility": "SOME"})) == (422, 42203)
    assert refused(ask("PUT", "/mode", {"mode": "SOME"})) == (422, 42204)
    assert refused(ask("POST", "/subjects/a%00b/versions", {"schema": '"int"'})) == (422, 42208)
    assert refused(ask("POST", "/subjects/__GLOBAL/versions", {"schema": '"int"'})) == (422, 42208)


def test_content_types_that_are_not_spoken_are_refused(registry: SchemaRegistry) -> None:
    ask = registry.ask
    assert refused(ask("GET", "/subjects", Accept="text/xml")) == (406, 406)
    body = b'{"schema":"\\"int\\""}'
    assert refused(ask("POST", "/subjects/t/versions", body, Content_Type="text/xml")) == (415, 415)
    for kind in ("application/json; charset=utf-8", "application/vnd.schemaregistry+json"):
        assert ask("POST", "/subjects/t/versions", body, Content_Type=kind).status == 200


def test_a_schema_of_a_megabyte_is_too_large_for_the_topic_unless_that_takes_it(
    registry: SchemaRegistry, node: EmbeddedKafka
) -> None:
    def enum(count: int) -> str:
        symbols = [f"S{number:09}" for number in range(count)]
        return json.dumps({"type": "enum", "name": "E", "symbols": symbols})

    large = registry.ask("POST", "/subjects/large/versions", {"schema": enum(100_000)})
    assert refused(large) == (422, 42209)
    id_ = registry.register("half", enum(40_000))
    assert len(registry.ask("GET", f"/schemas/ids/{id_}").body["schema"]) > 500_000
    # After a refusal the topic still takes what fits.
    assert registry.ask("GET", "/subjects/large/versions").status == 404

    # The topic says how large is too large.
    admin = AdminClient({"bootstrap.servers": node.bootstrap_servers})
    entry = ConfigEntry("max.message.bytes", "3000000", incremental_operation=SET)
    topic = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[entry])
    admin.incremental_alter_configs([topic])[topic].result(30)
    assert registry.register("large", enum(100_000)) == id_ + 1
    answer = registry.ask("GET", "/subjects/large/versions/latest/schema")
    assert len(answer.body["symbols"]) == 100_000


def test_types_that_refer_to_each_other_without_an_end_are_compared_or_refused(
    registry: SchemaRegistry,
) -> None:
    def chain(count: int, end: str) -> dict[str, Any]:
        fields = [[{"name": "f", "type": end}]]
        fields += [[{"name": "f", "type": f"R{one}"}] for one in range(count)]
        records = [
            {"type": "record", "name": f"R{one}", "fields": each} for one, each in enumerate(fields)
        ]
        return {"schema": json.dumps(records)}

    def steps(count: int, end: str) -> dict[str, Any]:
        last = {f"d{count}": {"type": end}}
        names = {f"d{one}": {"properties": {"x": to(one + 1)}} for one in range(count)}
        schema = {**to(0), "definitions": {**names, **last}}
        return {"schema": json.dumps(schema), "schemaType": "JSON"}

    def to(number: int) -> dict[str, str]:
        return {"$ref": f"#/definitions/d{number}"}

    for name, make, ends in (("chain", chain, ("int", "bytes")), ("steps", steps, _JSON_ENDS)):
        for count in (50, 2000):
            subject = f"{name}-{count}"
            versions = f"/subjects/{subject}/versions"
            assert registry.ask("POST", versions, make(count, ends[0])).status == 200
            answer = registry.ask("POST", versions, make(count, ends[1]))
            assert refused(answer) in ((409, 409), (422, 42201)), subject
            assert registry.ask("GET", versions).body == [1]


_JSON_ENDS = ("string", "integer")


def test_an_enormous_body_is_refused_without_being_read(registry: SchemaRegistry) -> None:
    with socket.create_connection(("127.0.0.1", registry.port), timeout=30) as connection:
        connection.sendall(
            b"POST /subjects/s/versions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n"
            b"Content-Type: application/json\r\n\r\n{"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_the_description_names_every_path(registry: SchemaRegistry) -> None:
    described = registry.ask("GET", "/openapi.json").body
    assert described["openapi"].startswith("3.")
    for path, methods in described["paths"].items():
        filled = path.replace("{id}", "1").replace("{version}", "1")
        filled = filled.replace("{subject}", "s").replace("{guid}", "g")
        for method in methods:
            if method == "get":
                assert registry.ask("GET", filled).status in (200, 404), path
            else:
                assert registry.ask("PATCH", filled).status == 405, path
