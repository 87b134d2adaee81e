"""v3 and the parts of v2 that look at a cluster and change it."""

from typing import Any

from confluent_kafka import Consumer, TopicPartition

from headrace.testing import EmbeddedKafka
from tests.clients.rest import Rest
from tests.clients.rest_fixtures import registry, rest

__all__ = ["registry", "rest"]

NOT_SERVED = ("/acls", "/reassignment", "/reassignments")


def test_the_cluster_and_its_brokers_describe_themselves(rest: Rest, node: EmbeddedKafka) -> None:
    clusters = rest.ask("GET", "/v3/clusters").json()
    assert clusters["kind"] == "KafkaClusterList"
    (cluster,) = clusters["data"]
    assert cluster["metadata"]["self"] == f"{rest.url}/v3/clusters/{cluster['cluster_id']}"
    (broker,) = rest.ask("GET", f"{rest.cluster}/brokers").json()["data"]
    host, _, port = node.bootstrap_servers.partition(":")
    assert (broker["host"], broker["port"]) == (host, int(port))
    assert rest.ask("GET", f"{rest.cluster}/brokers/{broker['broker_id']}").json() == broker
    assert rest.error("GET", f"{rest.cluster}/brokers/77") == (404, 404)
    assert rest.error("GET", "/v3/clusters/other/topics") == (404, 404)
    assert rest.ask("GET", "/brokers").json() == {"brokers": [broker["broker_id"]]}


def test_a_topic_is_made_grown_configured_and_deleted(rest: Rest) -> None:
    topics = f"{rest.cluster}/topics"
    body = {
        "topic_name": "made",
        "partitions_count": 2,
        "configs": [{"name": "retention.ms", "value": "5000"}],
    }
    made = rest.ask("POST", topics, body)
    assert (made.status_code, made.json()["partitions_count"]) == (201, 2)
    assert rest.error("POST", topics, body) == (400, 40002)
    assert "made" in rest.ask("GET", "/topics").json()
    grown = rest.ask("PATCH", f"{topics}/made", {"partitions_count": 3})
    assert grown.json()["partitions_count"] == 3
    partitions = rest.ask("GET", f"{topics}/made/partitions").json()["data"]
    assert [one["partition_id"] for one in partitions] == [0, 1, 2]
    offsets = rest.ask("GET", f"{topics}/made/partitions/1/offset").json()
    assert (offsets["earliest_offset"], offsets["latest_offset"]) == (0, 0)
    (replica,) = rest.ask("GET", f"{topics}/made/partitions/1/replicas").json()["data"]
    assert (replica["is_leader"], replica["is_in_sync"]) == (True, True)

    setting = rest.ask("GET", f"{topics}/made/configs/retention.ms").json()
    assert (setting["value"], setting["source"]) == ("5000", "DYNAMIC_TOPIC_CONFIG")
    changes = {
        "data": [
            {"name": "cleanup.policy", "value": "compact"},
            {"name": "retention.ms", "operation": "DELETE"},
        ]
    }
    assert rest.ask("POST", f"{topics}/made/configs:alter", changes).status_code == 204
    assert rest.ask("GET", "/topics/made").json()["configs"]["cleanup.policy"] == "compact"
    assert rest.ask("GET", f"{topics}/made/configs/retention.ms").json()["is_default"] is True
    put = rest.ask("PUT", f"{topics}/made/configs/segment.bytes", {"value": "2000000"})
    assert put.status_code == 204
    assert rest.ask("DELETE", f"{topics}/made/configs/segment.bytes").status_code == 204

    assert rest.ask("DELETE", f"{topics}/made").status_code == 204
    assert rest.error("GET", f"{topics}/made") == (404, 40403)
    assert rest.error("GET", "/topics/made") == (404, 40401)


def test_one_wrong_setting_of_several_changes_none(rest: Rest, node: EmbeddedKafka) -> None:
    topic = node.topic()
    path = f"{rest.cluster}/topics/{topic}/configs"
    changes = {
        "data": [{"name": "retention.ms", "value": "5000"}, {"name": "segment.ms", "value": "x"}]
    }
    assert rest.error("POST", f"{path}:alter", changes) == (400, 40002)
    assert rest.ask("GET", f"{path}/retention.ms").json()["is_default"] is True


def test_validate_only_makes_nothing(rest: Rest) -> None:
    body = {"topic_name": "imagined", "partitions_count": 1, "validate_only": True}
    assert rest.ask("POST", f"{rest.cluster}/topics", body).status_code == 200
    assert "imagined" not in rest.ask("GET", "/topics").json()


def test_groups_show_their_members_and_their_lag(rest: Rest, node: EmbeddedKafka) -> None:
    topic = node.topic()
    rest.produce(topic, "json", [{"value": number} for number in range(10)])
    path = rest.instance(f"lag-{topic}", format="json", name="slow")
    rest.ask("POST", f"{path}/subscription", {"topics": [topic]})
    rest.records(path, "json", 10)
    body = {"offsets": [{"topic": topic, "partition": 0, "offset": 3}]}
    rest.ask("POST", f"{path}/offsets", body)

    groups = f"{rest.cluster}/consumer-groups"
    assert f"lag-{topic}" in [
        one["consumer_group_id"] for one in rest.ask("GET", groups).json()["data"]
    ]
    group = f"{groups}/lag-{topic}"
    assert rest.ask("GET", group).json()["state"] == "STABLE"
    (member,) = rest.ask("GET", f"{group}/consumers").json()["data"]
    assert member["client_id"] == "slow"
    (mine,) = rest.ask("GET", f"{group}/consumers/{member['consumer_id']}/assignments").json()[
        "data"
    ]
    assert (mine["topic_name"], mine["partition_id"]) == (topic, 0)
    (lag,) = rest.ask("GET", f"{group}/lags").json()["data"]
    assert (lag["current_offset"], lag["log_end_offset"], lag["lag"]) == (4, 10, 6)
    assert lag["client_id"] == "slow"
    one = rest.ask("GET", f"{group}/lags/{topic}/partitions/0").json()
    assert one["lag"] == 6
    summary = rest.ask("GET", f"{group}/lag-summary").json()
    assert (summary["max_lag"], summary["total_lag"], summary["max_lag_client_id"]) == (
        6,
        6,
        "slow",
    )
    rest.ask("DELETE", path)
    assert rest.error("GET", f"{groups}/never-was") == (404, 404)


def test_every_address_that_an_answer_names_answers(rest: Rest, node: EmbeddedKafka) -> None:
    """Links of what the proxy does not serve (see its page) aside."""
    topic = node.topic()
    consumer = Consumer({"bootstrap.servers": node.bootstrap_servers, "group.id": f"g-{topic}"})
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.1)
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    assignments = f"{rest.cluster}/consumer-groups/g-{topic}/consumers"
    (member,) = rest.ask("GET", assignments).json()["data"]
    waiting = {
        f"{rest.url}{rest.cluster}",
        f"{rest.url}{rest.cluster}/topics/{topic}",
        f"{rest.url}{rest.cluster}/topics/{topic}/partitions/0",
        member["metadata"]["self"],
    }
    seen: set[str] = set()
    while waiting:
        address = waiting.pop()
        seen.add(address)
        answer = rest.ask("GET", address)
        assert answer.status_code == 200, address
        # A few of each list are enough.
        body = answer.json()
        for one in [body, *body.get("data", [])[:2]]:
            named = {one["metadata"]["self"], *_related(one)}
            # Groups of other tests come and go, and some never committed anything.
            waiting |= {
                link
                for link in named - seen
                if not link.endswith(NOT_SERVED)
                and ("/consumer-groups/" not in link or f"/consumer-groups/g-{topic}" in link)
            }
    consumer.close()
    kinds = {address.rpartition("/")[2] for address in seen}
    assert {"partition-replicas", "replicas", "assignments", "lag-summary"} <= kinds


def _related(resource: dict[str, Any]) -> set[str]:
    return {
        one["related"] for one in resource.values() if isinstance(one, dict) and "related" in one
    }


def test_a_replica_and_an_assignment_that_are_not_there_are_not_found(
    rest: Rest, node: EmbeddedKafka
) -> None:
    topic = f"{rest.cluster}/topics/{node.topic()}/partitions/0"
    assert rest.error("GET", f"{topic}/replicas/77") == (404, 404)
    assert rest.error("GET", f"{rest.cluster}/brokers/77/partition-replicas") == (404, 404)
    group = f"{rest.cluster}/consumer-groups/none/consumers/x/assignments/t/partitions/0"
    assert rest.error("GET", group) == (404, 404)


def test_the_description_names_every_route_and_the_page_needs_nothing_from_elsewhere(
    rest: Rest,
) -> None:
    description = rest.ask("GET", "/openapi.json").json()
    assert description["openapi"].startswith("3.")
    assert "/v3/clusters/{cluster_id}/topics/{topic_name}/records" in description["paths"]
    identifiers = [
        operation["operationId"]
        for path in description["paths"].values()
        for operation in path.values()
    ]
    assert len(identifiers) == len(set(identifiers)) > 50
    page = rest.ask("GET", "/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "http" not in page.text.replace("http.response", "")
    assert "/consumers/{group}" in page.text
