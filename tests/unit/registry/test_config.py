"""Settings under Confluent's names."""

import pytest

from headrace.base.errors import KafkaError
from headrace.registry.config import RegistryConfig, environment_settings

NEEDED = {"kafkastore.bootstrap.servers": "k:9092"}


def test_settings_reach_the_parts_they_belong_to() -> None:
    config = RegistryConfig.from_settings(
        {
            **NEEDED,
            "kafkastore.topic": "schemas",
            "kafkastore.security.protocol": "PLAINTEXT",
            "schema.registry.group.id": "g",
            "schema.compatibility.level": "full_transitive",
            "mode.mutability": "false",
            "host.name": "here",
            "unknown.setting": "x",
        }
    )
    assert config.client == {"bootstrap.servers": "k:9092", "security.protocol": "PLAINTEXT"}
    assert config.log.topic == "schemas"
    assert config.election.group_id == "g"
    assert config.core.schema_compatibility_level == "FULL_TRANSITIVE"
    assert config.core.mode_mutability is False
    assert config.address(8081) == ("here", 8081)


def test_the_address_is_that_of_the_first_listener_unless_told() -> None:
    config = RegistryConfig.from_settings({**NEEDED, "listeners": "http://10.0.0.1:0,http://x:1"})
    assert config.address(9000) == ("10.0.0.1", 9000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kafkastore.bootstrap.servers", " "),
        ("schema.compatibility.level", "some"),
        ("kafkastore.timeout.ms", "soon"),
        ("mode.mutability", "maybe"),
    ],
)
def test_a_setting_that_cannot_be_is_named(name: str, value: str) -> None:
    with pytest.raises(KafkaError, match=name):
        RegistryConfig.from_settings({**NEEDED, name: value})


def test_variables_of_the_container_images_are_settings() -> None:
    found = environment_settings(
        {
            "SCHEMA_REGISTRY_KAFKASTORE_BOOTSTRAP_SERVERS": "k:9092",
            "SCHEMA_REGISTRY_HOST_NAME": "h",
            "SCHEMA_REGISTRY_A__B___C": "x",
            "PATH": "y",
        }
    )
    assert found == {"kafkastore.bootstrap.servers": "k:9092", "host.name": "h", "a-b_c": "x"}
