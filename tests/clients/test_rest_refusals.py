"""Bad input gets the API's own code, no stack trace, and leaves nothing half done."""

import json

import pytest

from headrace.testing import EmbeddedKafka
from headrace.testing.ports import free_port
from tests.clients.rest import V2, Rest, v2
from tests.clients.rest_fixtures import registry, rest
from tests.support.rest_server import rest_server
from tests.support.small_registry import SmallRegistry

__all__ = ["registry", "rest"]

AVRO = '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}'


@pytest.fixture
def topic(node: EmbeddedKafka) -> str:
    return node.topic()


def end_of(rest: Rest, topic: str) -> int:
    answer = rest.ask("GET", f"/topics/{topic}/partitions/0/offsets").json()
    return int(answer["end_offset"])


@pytest.mark.parametrize(
    ("body", "kind", "wanted"),
    [
        (b"{", v2("json"), (400, 400)),
        (b"\xff\xfe", v2("json"), (400, 400)),
        (b"[" * 100_000, v2("json"), (400, 400)),
        (b"", v2("json"), (422, 42206)),
        (b"[]", v2("json"), (422, 422)),
        (b"{}", v2("json"), (422, 422)),
        (b'{"records": []}', v2("json"), (422, 422)),
        (b'{"records": [1]}', v2("json"), (422, 422)),
        (b'{"records": [{"value": 1, "partition": "x"}]}', v2("json"), (422, 422)),
        (b'{"records": [{"value": 1, "partition": 9}]}', v2("json"), (404, 40402)),
        (b'{"records": [{"value": "%%%"}]}', v2("binary"), (422, 42203)),
        (b'{"records": [{"value": 5}]}', v2("binary"), (422, 42203)),
        (b'{"records": [{"value": 5}]}', v2("avro"), (422, 42202)),
        (b'{"records": [{"key": 5}]}', v2("avro"), (422, 42201)),
        (b'{"value_schema": "{", "records": [{"value": 5}]}', v2("avro"), (422, 42205)),
        (b'{"value_schema": 7, "records": [{"value": 5}]}', v2("avro"), (422, 422)),
        (b'{"value_schema_id": 999, "records": [{"value": 5}]}', v2("avro"), (422, 42207)),
        (b'{"value_schema_id": "x", "records": [{"value": 5}]}', v2("avro"), (422, 422)),
        (b"{}", "text/plain", (415, 415)),
        (b"{}", "application/vnd.kafka.xml.v2+json", (415, 415)),
        (b"{}", "", (415, 415)),
        (b" " * 1_000_001, v2("json"), (413, 413)),
        (b'{"records": [{"value": NaN}]}', v2("json"), (400, 400)),
        (b'{"records": [{"value": "\\ud800"}]}', v2("json"), (400, 400)),
    ],
)
def test_a_bad_request_to_produce_sends_nothing(
    rest: Rest, topic: str, body: bytes, kind: str, wanted: tuple[int, int]
) -> None:
    assert rest.error("POST", f"/topics/{topic}", body, kind=kind) == wanted
    assert end_of(rest, topic) == 0


def test_one_record_that_does_not_fit_keeps_all_of_its_request_out(rest: Rest, topic: str) -> None:
    records = [{"value": {"id": number}} for number in range(50)] + [{"value": {"id": "x"}}]
    body = {"value_schema": AVRO, "records": records}
    answer = rest.ask("POST", f"/topics/{topic}", body, v2("avro"))
    assert (answer.status_code, answer.json()["error_code"]) == (422, 42203)
    assert "field id holds 'x', not int" in answer.json()["message"]
    assert end_of(rest, topic) == 0


@pytest.mark.parametrize(
    ("method", "path", "wanted"),
    [
        ("GET", "/nowhere", (404, 404)),
        ("PUT", "/topics", (405, 405)),
        ("GET", "/topics/no%20such%20topic", (404, 40401)),
        ("GET", "/topics/" + "x" * 300, (404, 40401)),
        ("GET", "/consumers/g/instances/none/records", (404, 40403)),
        ("DELETE", "/consumers/g/instances/none", (404, 40403)),
        ("POST", "/consumers/g/instances/none/offsets", (404, 40403)),
    ],
)
def test_what_is_not_there_is_not_found(
    rest: Rest, method: str, path: str, wanted: tuple[int, int]
) -> None:
    assert rest.error(method, path) == wanted


def test_an_answer_that_the_client_does_not_take_is_refused(rest: Rest) -> None:
    assert rest.error("GET", "/topics", accept="text/html") == (406, 406)
    assert rest.ask("GET", "/topics", accept="text/html, */*;q=0.1").status_code == 200
    answer = rest.ask("GET", "/topics/nothing-here-at-all", accept=V2)
    assert answer.headers["content-type"] == V2


@pytest.mark.parametrize(
    "body",
    [
        {"topics": []},
        {"topics": "orders"},
        {"topics": [5]},
        {},
        {"topic_pattern": 5},
    ],
)
def test_a_subscription_that_makes_no_sense_is_refused(rest: Rest, body: object) -> None:
    path = rest.instance("refusals")
    assert rest.error("POST", f"{path}/subscription", body) == (422, 422)
    rest.ask("DELETE", path)


@pytest.mark.parametrize(
    "body",
    [
        {"topic_name": 5},
        {"topic_name": "x", "partitions_count": 0},
        {"topic_name": "x", "partitions_count": 2000000000},
        {"topic_name": "x", "replication_factor": 30000},
        {"topic_name": "x", "configs": "none"},
        {"topic_name": "x", "configs": [{"name": "no.such.setting", "value": "1"}]},
        {"topic_name": "x y"},
    ],
)
def test_a_topic_that_makes_no_sense_is_not_made(rest: Rest, body: object) -> None:
    status, code = rest.error("POST", f"{rest.cluster}/topics", body)
    assert status == 400
    assert code in (400, 40002)
    assert "x" not in rest.ask("GET", "/topics").json()


@pytest.mark.parametrize(
    ("method", "path", "body", "wanted"),
    [
        ("GET", "/brokers/77/configs", None, (404, 404)),
        ("GET", "/brokers/one/configs/log.dirs", None, (404, 404)),
        ("PUT", "/brokers/77/configs/log.retention.ms", {"value": "1"}, (404, 404)),
        (
            "POST",
            "/topics/{topic}/configs:alter",
            {"data": [{"name": "", "value": "x"}]},
            (400, 400),
        ),
        ("POST", "/topics/{topic}/configs:alter", {"data": 5}, (400, 400)),
        ("PUT", "/topics/{topic}/configs/retention.ms", {}, (400, 400)),
        ("POST", "/topics", {"topic_name": "x", "configs": [{"name": ""}]}, (400, 400)),
    ],
)
def test_settings_of_nothing_are_refused(
    rest: Rest, topic: str, method: str, path: str, body: object, wanted: tuple[int, int]
) -> None:
    assert rest.error(method, rest.cluster + path.format(topic=topic), body) == wanted


def test_a_broker_that_is_away_is_told_in_time() -> None:
    settings = {
        "bootstrap.servers": f"127.0.0.1:{free_port()}",
        "client.timeout.ms": "500",
        "producer.message.timeout.ms": "500",
    }
    with rest_server(settings) as server:
        client = Rest(server.url)
        for method, path in (
            ("GET", "/topics"),
            ("GET", "/brokers"),
            ("GET", "/topics/orders"),
            ("GET", "/v3/clusters"),
        ):
            status, code = client.error(method, path)
            assert status in (500, 503), path
            assert code in (50002, 50003, 50302), path
        body = {"records": [{"value": 1}]}
        status, _ = client.error("POST", "/topics/orders", body, kind=v2("json"))
        assert status in (500, 503)
        client.close()


def test_a_registry_that_is_away_is_told(node: EmbeddedKafka, topic: str) -> None:
    settings = {
        "bootstrap.servers": node.bootstrap_servers,
        "schema.registry.url": f"http://127.0.0.1:{free_port()}",
    }
    with rest_server(settings) as server:
        client = Rest(server.url)
        body = {"value_schema": AVRO, "records": [{"value": {"id": 1}}]}
        assert client.error("POST", f"/topics/{topic}", body, kind=v2("avro")) == (408, 40801)
        client.close()


def test_a_schema_of_another_topic_is_not_written_with(
    rest: Rest, node: EmbeddedKafka, registry: SmallRegistry, topic: str
) -> None:
    schema_id = registry.add("elsewhere-value", {"schema": '"string"'})
    body = {"value_schema_id": schema_id, "records": [{"value": "x"}]}
    assert rest.error("POST", f"/topics/{topic}", body, kind=v2("avro")) == (422, 42207)
    assert json.dumps(registry.subjects).count(topic) == 0
