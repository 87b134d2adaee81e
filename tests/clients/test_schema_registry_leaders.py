"""Two registries on one topic: writes go to the leader, and another leads when it is killed."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headrace.testing import EmbeddedKafka
from tests.support.readiness import eventually
from tests.support.schema_registry import SchemaRegistry


def schema(number: int) -> str:
    return json.dumps({"type": "enum", "name": f"E{number}", "symbols": ["A"]})


def leads(registry: SchemaRegistry) -> bool:
    return bool(registry.ask("GET", "/leader").body["is_leader"])


@pytest.mark.no_second_chance
def test_any_node_takes_writes_and_answers_reads_and_ids_rise_over_a_leaders_death(
    tmp_path: Path,
) -> None:
    with (
        EmbeddedKafka() as kafka,
        SchemaRegistry(tmp_path, kafka.bootstrap_servers) as first,
        SchemaRegistry(tmp_path, kafka.bootstrap_servers) as second,
    ):
        eventually(lambda: leads(first) != leads(second))
        leader, follower = (first, second) if leads(first) else (second, first)
        ids = [follower.register(f"s{n}", schema(n)) for n in range(5)]
        ids += [leader.register(f"s{n}", schema(n)) for n in range(5, 10)]
        for number, id_ in enumerate(ids):
            assert follower.ask("GET", f"/subjects/s{number}/versions/latest").body["id"] == id_
        assert leader.ask("GET", "/subjects").body == [f"s{n}" for n in range(10)]
        assert follower.ask("DELETE", "/subjects/s9").body == [1]
        assert follower.ask("DELETE", "/subjects/s9?permanent=true").body == [1]
        leader.child.kill()
        eventually(lambda: leads(follower), timeout=60)
        ids += [follower.register("after", schema(20))]
        assert ids == sorted(set(ids))
        assert follower.ask("GET", "/schemas/ids/1").status == 200


@pytest.mark.no_second_chance
def test_a_schema_gets_one_id_however_many_register_it_at_once(tmp_path: Path) -> None:
    with (
        EmbeddedKafka() as kafka,
        SchemaRegistry(tmp_path, kafka.bootstrap_servers) as first,
        SchemaRegistry(tmp_path, kafka.bootstrap_servers) as second,
        ThreadPoolExecutor(8) as threads,
    ):

        def register(number: int) -> tuple[int, int]:
            registry = (first, second)[number % 2]
            which = number // 4
            return which, registry.register(f"s{which}", schema(which))

        found = set(threads.map(register, range(80)))
        assert len(found) == 20
        assert {id_ for _, id_ in found} == set(range(1, 21))
        for which, id_ in found:
            assert first.ask("GET", f"/subjects/s{which}/versions").body == [1]
            assert second.ask("GET", f"/schemas/ids/{id_}").body["schema"] == schema(which).replace(
                " ", ""
            )


def test_a_leader_that_stops_hands_over_at_once(tmp_path: Path) -> None:
    with (
        EmbeddedKafka() as kafka,
        SchemaRegistry(tmp_path, kafka.bootstrap_servers) as first,
        SchemaRegistry(tmp_path, kafka.bootstrap_servers) as second,
    ):
        eventually(lambda: leads(first) != leads(second))
        leader, follower = (first, second) if leads(first) else (second, first)
        assert leader.child.stop(30) == 0
        eventually(lambda: leads(follower))
        assert follower.register("s", schema(1)) == 1


def test_without_a_broker_the_registry_says_so_and_recovers(tmp_path: Path) -> None:
    with EmbeddedKafka() as kafka, SchemaRegistry(tmp_path, kafka.bootstrap_servers) as registry:
        id_ = registry.register("s", schema(1))
        kafka.kill()
        answer = registry.ask("POST", "/subjects/t/versions", {"schema": schema(2)})
        assert answer.status == 500
        assert answer.body["error_code"] in (50001, 50002, 50004)
        # What is known and cannot change is still answered.
        assert registry.ask("GET", f"/schemas/ids/{id_}").status == 200
        assert registry.ask("GET", "/subjects").body["error_code"] in (50001, 50002)
        kafka.start()

        def registers() -> bool:
            path = "/subjects/t/versions"
            return registry.ask("POST", path, {"schema": schema(2)}).status == 200

        eventually(registers, timeout=60)
        assert registry.ask("GET", "/subjects").body == ["s", "t"]
