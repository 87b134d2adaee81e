"""Consumer instances: subscription, assignment, positions, offsets, formats, and their end."""

import socket
from collections.abc import Iterator
from threading import Thread

import pytest
from confluent_kafka import Producer

from headrace.testing import EmbeddedKafka
from tests.clients.rest import V2, Rest, v2
from tests.clients.rest_fixtures import registry, rest
from tests.support.rest_server import rest_server
from tests.support.small_registry import SmallRegistry

__all__ = ["registry", "rest"]

AVRO = '{"type":"record","name":"Order","fields":[{"name":"id","type":["null","int"]}]}'


@pytest.fixture
def topic(node: EmbeddedKafka) -> str:
    return node.topic()


def fill(rest: Rest, topic: str, count: int) -> None:
    records = [{"value": number} for number in range(count)]
    assert rest.produce(topic, "json", records).status_code == 200


def place(topic: str) -> dict[str, object]:
    return {"topic": topic, "partition": 0}


def test_a_subscriber_reads_commits_and_another_one_goes_on(rest: Rest, topic: str) -> None:
    fill(rest, topic, 5)
    settings = {"format": "json", "auto.commit.enable": "false"}
    first = rest.instance(f"g-{topic}", **settings)
    assert rest.ask("POST", f"{first}/subscription", {"topics": [topic]}).status_code == 204
    assert rest.ask("GET", f"{first}/subscription").json() == {"topics": [topic]}
    records = rest.records(first, "json", 5)
    assert [one["value"] for one in records] == [0, 1, 2, 3, 4]
    assert records[0] == {"topic": topic, "key": None, "value": 0, "partition": 0, "offset": 0}
    assert rest.ask("GET", f"{first}/assignments").json() == {"partitions": [place(topic)]}
    assert rest.ask("POST", f"{first}/offsets").status_code == 200
    answer = rest.ask("GET", f"{first}/offsets", {"partitions": [place(topic)]})
    assert answer.json() == {"offsets": [{**place(topic), "offset": 5, "metadata": ""}]}
    assert rest.ask("DELETE", first).status_code == 204
    assert rest.error("GET", f"{first}/records") == (404, 40403)

    fill(rest, topic, 1)
    second = rest.instance(f"g-{topic}", **settings)
    rest.ask("POST", f"{second}/subscription", {"topics": [topic]})
    assert [one["offset"] for one in rest.records(second, "json", 1)] == [5]
    rest.ask("DELETE", second)


def test_what_an_instance_was_given_is_committed_when_it_ends(rest: Rest, topic: str) -> None:
    fill(rest, topic, 3)
    path = rest.instance(f"g-{topic}", format="json")
    rest.ask("POST", f"{path}/assignments", {"partitions": [place(topic)]})
    rest.records(path, "json", 3)
    rest.ask("DELETE", path)
    other = rest.instance(f"g-{topic}", format="json")
    answer = rest.ask("GET", f"{other}/offsets", {"partitions": [place(topic)]})
    assert [one["offset"] for one in answer.json()["offsets"]] == [3]
    rest.ask("DELETE", other)


def test_an_assigned_instance_goes_where_it_is_sent(rest: Rest, topic: str) -> None:
    fill(rest, topic, 10)
    path = rest.instance("seekers", format="json")
    there = {"partitions": [place(topic)]}
    assert rest.ask("POST", f"{path}/assignments", there).status_code == 204
    target = {"offsets": [{**place(topic), "offset": 7}]}
    assert rest.ask("POST", f"{path}/positions", target).status_code == 204
    assert [one["offset"] for one in rest.records(path, "json", 3)] == [7, 8, 9]
    assert rest.ask("POST", f"{path}/positions/beginning", there).status_code == 204
    assert rest.records(path, "json", 10)[0]["offset"] == 0
    assert rest.ask("POST", f"{path}/positions/end", there).status_code == 204
    assert rest.ask("GET", f"{path}/records?timeout=100", accept=v2("json")).json() == []
    rest.ask("DELETE", path)


def test_an_offset_that_is_committed_is_the_last_one_read(rest: Rest, topic: str) -> None:
    fill(rest, topic, 3)
    path = rest.instance("committers", format="json")
    body = {"offsets": [{**place(topic), "offset": 1, "metadata": "half"}]}
    assert rest.ask("POST", f"{path}/offsets", body).status_code == 200
    answer = rest.ask("GET", f"{path}/offsets", {"partitions": [place(topic)]})
    assert answer.json() == {"offsets": [{**place(topic), "offset": 2, "metadata": "half"}]}
    rest.ask("DELETE", path)


def test_an_answer_stops_at_max_bytes_and_the_next_goes_on(rest: Rest, topic: str) -> None:
    fill(rest, topic, 9)
    path = rest.instance("small", format="json")
    rest.ask("POST", f"{path}/assignments", {"partitions": [place(topic)]})
    found: list[int] = []
    while len(found) < 9:
        answer = rest.ask("GET", f"{path}/records?max_bytes=3", accept=v2("json")).json()
        assert len(answer) <= 3
        found += [one["value"] for one in answer]
    assert found == list(range(9))
    rest.ask("DELETE", path)


def test_avro_is_shown_in_its_json_encoding_and_a_bad_record_can_be_passed(
    rest: Rest, node: EmbeddedKafka, topic: str
) -> None:
    rest.produce(topic, "avro", [{"value": {"id": {"int": 4}}}], value_schema=AVRO)
    producer = Producer({"bootstrap.servers": node.bootstrap_servers})
    producer.produce(topic, b"no schema")
    producer.flush()
    rest.produce(topic, "avro", [{"value": {"id": None}}], value_schema=AVRO)
    path = rest.instance("avro", format="avro")
    rest.ask("POST", f"{path}/assignments", {"partitions": [place(topic)]})
    assert [one["value"] for one in rest.records(path, "avro", 1)] == [{"id": {"int": 4}}]
    answer = rest.ask("GET", f"{path}/records", accept=v2("avro"))
    assert (answer.status_code, answer.json()["error_code"]) == (500, 50002)
    assert "offset 1" in answer.json()["message"]
    assert "magic byte" in answer.json()["message"]
    rest.ask("POST", f"{path}/positions", {"offsets": [{**place(topic), "offset": 2}]})
    assert [one["value"] for one in rest.records(path, "avro", 1)] == [{"id": None}]
    rest.ask("DELETE", path)


def test_a_value_that_is_too_deep_to_be_shown_can_be_passed(
    rest: Rest, node: EmbeddedKafka, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": node.bootstrap_servers})
    for value in (b"1", b"[" * 600 + b"]" * 600, b"2"):
        producer.produce(topic, value, partition=0)
    producer.flush()
    path = rest.instance(f"g-{topic}", format="json", **{"auto.commit.enable": "false"})
    rest.ask("POST", f"{path}/assignments", {"partitions": [place(topic)]})
    assert [one["value"] for one in rest.records(path, "json", 1)] == [1]
    for _ in range(2):
        answer = rest.ask("GET", f"{path}/records")
        assert (answer.status_code, answer.json()["error_code"]) == (500, 50002)
        assert f"{topic}-0 at offset 1" in answer.json()["message"]
    rest.ask("POST", f"{path}/positions", {"offsets": [{**place(topic), "offset": 2}]})
    assert [one["value"] for one in rest.records(path, "json", 1)] == [2]
    rest.ask("DELETE", path)


def test_states_that_exclude_each_other_are_refused(rest: Rest, topic: str) -> None:
    path = rest.instance("states")
    there = {"partitions": [place(topic)]}
    rest.ask("POST", f"{path}/subscription", {"topics": [topic]})
    assert rest.error("POST", f"{path}/assignments", there) == (409, 40903)
    assert rest.ask("DELETE", f"{path}/subscription").status_code == 204
    assert rest.ask("POST", f"{path}/assignments", there).status_code == 204
    assert rest.error("POST", f"{path}/subscription", {"topics": [topic]}) == (409, 40903)
    elsewhere = {"offsets": [{"topic": topic, "partition": 5, "offset": 0}]}
    assert rest.error("POST", f"{path}/positions", elsewhere) == (409, 40903)
    assert rest.error("GET", f"{path}/records", accept=v2("avro")) == (406, 40601)
    rest.ask("DELETE", path)


@pytest.mark.parametrize(
    "body",
    [
        {"format": "xml"},
        {"auto.offset.reset": "middle"},
        {"auto.commit.enable": "maybe"},
        {"fetch.min.bytes": "many"},
        {"name": "a/b"},
    ],
)
def test_an_instance_that_makes_no_sense_is_refused(rest: Rest, body: object) -> None:
    assert rest.error("POST", "/consumers/wrong", body) == (422, 42204)


def test_a_name_is_taken_once(rest: Rest) -> None:
    path = rest.instance("named", name="only-one")
    assert path == "/consumers/named/instances/only-one"
    assert rest.error("POST", "/consumers/named", {"name": "only-one"}) == (409, 40902)
    rest.ask("DELETE", path)


def test_an_idle_instance_is_closed(node: EmbeddedKafka) -> None:
    settings = {
        "bootstrap.servers": node.bootstrap_servers,
        "consumer.instance.timeout.ms": "0",
    }
    with rest_server(settings) as server:
        client = Rest(server.url)
        path = client.instance("idle")
        while client.ask("GET", f"{path}/subscription").status_code != 404:
            client.ask("GET", "/brokers")
        assert client.error("GET", f"{path}/records") == (404, 40403)
        client.close()


@pytest.fixture
def two(node: EmbeddedKafka, registry: SmallRegistry) -> Iterator[tuple[Rest, Rest]]:
    """Two proxies that know each other."""
    from headrace.testing.ports import free_port

    ports = free_port(), free_port()
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    shared = {"bootstrap.servers": node.bootstrap_servers, "headrace.rest.peers": ",".join(urls)}
    first, second = ({**shared, "listeners": url} for url in urls)
    with rest_server(first) as one, rest_server(second) as other:
        clients = Rest(one.url), Rest(other.url)
        yield clients
        for client in clients:
            client.close()


def test_an_instance_is_reached_through_any_proxy(two: tuple[Rest, Rest], topic: str) -> None:
    first, second = two
    fill(first, topic, 3)
    path = first.instance(f"any-{topic}", format="json", name="mine")
    assert second.ask("POST", f"{path}/subscription", {"topics": [topic]}).status_code == 204
    assert [one["value"] for one in second.records(path, "json", 3)] == [0, 1, 2]
    assert first.ask("GET", f"{path}/subscription", accept=V2).json() == {"topics": [topic]}
    assert second.error("POST", f"/consumers/any-{topic}", {"name": "mine"}) == (409, 40902)
    assert second.error("GET", f"{path}-not/records") == (404, 40403)
    assert second.ask("DELETE", path).status_code == 204
    assert first.error("GET", f"{path}/records") == (404, 40403)


def test_names_reach_the_other_proxy_as_they_were_sent(two: tuple[Rest, Rest], topic: str) -> None:
    first, second = two
    path = first.instance(f"what%3F%23%20ä-{topic}", format="json", name="mine? #1")
    assert "%3F" in path
    assert second.ask("POST", f"{path}/subscription", {"topics": [topic]}).status_code == 204
    assert second.ask("GET", f"{path}/subscription").json() == {"topics": [topic]}
    group = path.rpartition("/instances/")[0]
    assert second.error("POST", group, {"name": "mine? #1"}) == (409, 40902)
    assert second.ask("DELETE", path).status_code == 204


def test_a_proxy_that_does_not_answer_may_have_the_instance(node: EmbeddedKafka) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        settings = {"bootstrap.servers": node.bootstrap_servers, "headrace.rest.peers": url}

        def hang_up() -> None:
            silent.accept()[0].close()

        thread = Thread(target=hang_up)
        thread.start()
        with rest_server(settings) as server:
            client = Rest(server.url)
            path = "/consumers/g/instances/somewhere/records"
            assert client.error("GET", path) == (500, 50003)
            thread.join()
            silent.close()
            assert client.error("GET", path) == (404, 40403)
            client.close()
