from pathlib import Path

import pytest

from headrace.base.errors import KafkaError
from headrace.server.properties import environment_settings, load_properties


def from_environment(**variables: str) -> dict[str, str]:
    return {name: value for _, name, value in environment_settings(variables)}


def test_a_flag_beats_the_environment_beats_the_file(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("# mine\nnode.id=1\nlog.dirs=/a\nbroker.rack=r1\n")
    properties = load_properties(
        str(path),
        environment={"KAFKA_LOG_DIRS": "/b", "KAFKA_BROKER_RACK": "r2", "HOME": "/root"},
        overrides=["broker.rack=r3", "num.partitions=4"],
    )
    assert properties.values == {
        "node.id": "1",
        "log.dirs": "/b",
        "broker.rack": "r3",
        "num.partitions": "4",
    }
    assert properties.origins == {
        "node.id": f"{path}, line 2",
        "log.dirs": "environment variable KAFKA_LOG_DIRS",
        "broker.rack": "--override",
        "num.partitions": "--override",
    }


def test_one_two_and_three_underscores_are_a_dot_an_underscore_and_a_dash() -> None:
    assert from_environment(
        KAFKA_PROCESS_ROLES="broker",
        KAFKA_LISTENER_NAME_MY__LAN_MAX_CONNECTIONS="5",
        KAFKA_LISTENER_NAME_LAN_SCRAM___SHA___256_SASL_JAAS_CONFIG="x",
    ) == {
        "process.roles": "broker",
        "listener.name.my_lan.max.connections": "5",
        "listener.name.lan.scram-sha-256.sasl.jaas.config": "x",
    }


def test_variables_of_kafkas_scripts_are_no_settings() -> None:
    assert from_environment(KAFKA_HEAP_OPTS="-Xmx1G", KAFKA_OPTS="", KAFKA_HOME="/opt") == {}


def test_an_override_may_set_an_empty_value_and_one_with_equals_signs() -> None:
    properties = load_properties(overrides=["a=", "b=x=y"])
    assert properties.values == {"a": "", "b": "x=y"}


@pytest.mark.parametrize("override", ["node.id", "=1", " =1"])
def test_an_override_without_name_or_equals_sign_is_refused(override: str) -> None:
    with pytest.raises(KafkaError, match=r"--override takes name=value, not"):
        load_properties(overrides=[override])


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.properties")
    with pytest.raises(KafkaError) as caught:
        load_properties(missing)
    assert caught.value.message == f"Cannot read {missing}: No such file or directory."
