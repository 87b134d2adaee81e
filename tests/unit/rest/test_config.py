"""Settings of a proxy: Confluent's names, from file, environment and overrides."""

from pathlib import Path

import pytest

from headrace.rest.config import RestConfigError, make_config, read_config


def test_later_sources_replace_earlier_ones(tmp_path: Path) -> None:
    file = tmp_path / "kafka-rest.properties"
    file.write_text(
        "listeners=http://0.0.0.0:8082\nbootstrap.servers=PLAINTEXT://a:9092,b:9092\nid=1\n"
        "consumer.instance.timeout.ms=5\nclient.security.protocol=PLAINTEXT\n"
        "producer.linger.ms=7\nclient.sasl.mechanism=PLAIN\nproducer.max.block.ms=1\n"
    )
    environment = {"KAFKA_REST_ID": "2", "KAFKA_REST_HOST_NAME": "x", "PATH": "/bin"}
    config = read_config(str(file), environment=environment, overrides=["id=3"])
    assert (config.host, config.port, config.id) == ("0.0.0.0", 8082, "3")
    assert config.bootstrap_servers == "a:9092,b:9092"
    assert config.instance_timeout_ms == 5
    assert config.properties["host.name"] == "x"
    assert config.client_settings("producer") == {
        "bootstrap.servers": "a:9092,b:9092",
        "security.protocol": "PLAINTEXT",
        "sasl.mechanisms": "PLAIN",
        "linger.ms": "7",
    }
    assert "linger.ms" not in config.client_settings("consumer")


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ({}, "bootstrap.servers is not set"),
        ({"bootstrap.servers": "a:1", "listeners": "https://h:1"}, "must be http"),
        ({"bootstrap.servers": "a:1", "listeners": "http://h:port"}, "no usable port"),
        ({"bootstrap.servers": "a:1", "consumer.threads": "many"}, "must be a whole number"),
        ({"bootstrap.servers": "a:1", "headrace.rest.peers": "b:8082"}, "takes addresses"),
    ],
)
def test_what_keeps_a_proxy_from_starting_is_one_sentence(
    properties: dict[str, str], sentence: str
) -> None:
    with pytest.raises(RestConfigError, match=sentence):
        make_config(properties)
