import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.broker_updates import validate_broker_updates


@pytest.mark.parametrize(
    "configs",
    [
        {"log.retention.ms": "100", "message.max.bytes": "5"},
        {"listeners": "PLAINTEXT://:9092"},
        {"leader.replication.throttled.rate": "10"},
        {"listener.name.internal.ssl.keystore.location": "/keys"},
        {"a.name.of.a.plugin": "x"},
    ],
)
def test_what_kafka_lets_one_change_on_a_broker_may_change(configs: dict[str, str]) -> None:
    validate_broker_updates(configs, per_broker=True)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        (
            {"node.id": "1", "broker.id": "1"},
            "Cannot update these configs dynamically: [node.id, broker.id]",
        ),
        (
            {"log.retention.hours": "10"},
            "Cannot update these configs dynamically: [log.retention.hours]",
        ),
        (
            {"ssl.keystore.location": "/keys"},
            (
                "These security configs can be dynamically updated only per-listener using the"
                " listener prefix: [ssl.keystore.location]"
            ),
        ),
        (
            {"message.max.bytes": "abc"},
            "Invalid value abc for configuration message.max.bytes: Not a number of type INT",
        ),
        (
            {"listener.name.internal.max.connections": "abc"},
            "Invalid value abc for configuration max.connections: Not a number of type INT",
        ),
    ],
)
def test_what_cannot_change_is_refused_with_kafkas_sentence(
    configs: dict[str, str], message: str
) -> None:
    with pytest.raises(KafkaError) as caught:
        validate_broker_updates(configs, per_broker=True)
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    assert caught.value.message == message


def test_what_belongs_to_one_broker_cannot_be_set_for_all() -> None:
    configs = {"listeners": "PLAINTEXT://:9092", "listener.name.a.ssl.key.password": "x"}
    with pytest.raises(KafkaError) as caught:
        validate_broker_updates(configs, per_broker=False)
    assert caught.value.message == (
        "Cannot update these configs at default cluster level, broker id must be specified:"
        " [listeners, listener.name.a.ssl.key.password]"
    )


def test_limits_may_be_set_for_all_brokers_also_for_one_listener() -> None:
    configs = {"max.connections": "10", "listener.name.a.max.connections": "5"}
    validate_broker_updates(configs, per_broker=False)
