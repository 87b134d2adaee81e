import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.client_metrics import parse_match, validate_client_metrics_configs


def test_a_subscription_says_what_how_often_and_from_whom() -> None:
    configs = {
        "metrics": "org.apache.kafka.producer.,org.apache.kafka.consumer.",
        "interval.ms": "5000",
        "match": "client_software_name=apache.*, client_id = orders-[0-9]+",
    }
    validate_client_metrics_configs("orders", configs)
    assert parse_match(("client_id = orders-[0-9]+",)) == {"client_id": "orders-[0-9]+"}


@pytest.mark.parametrize(
    ("name", "configs", "code", "message"),
    [
        ("", {}, ErrorCode.INVALID_REQUEST, "Subscription name can't be empty"),
        (
            "s",
            {"foo": "1"},
            ErrorCode.INVALID_REQUEST,
            "Unknown client metrics configuration: foo",
        ),
        (
            "s",
            {"interval.ms": "99"},
            ErrorCode.INVALID_REQUEST,
            "Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        (
            "s",
            {"interval.ms": "x"},
            ErrorCode.INVALID_CONFIG,
            "Invalid value x for configuration interval.ms: Not a number of type INT",
        ),
        (
            "s",
            {"match": "client_id=["},
            ErrorCode.INVALID_CONFIG,
            "Illegal client matching pattern: client_id=[",
        ),
        (
            "s",
            {"match": "colour=red"},
            ErrorCode.INVALID_CONFIG,
            "Illegal client matching pattern: colour=red",
        ),
        (
            "s",
            {"match": "client_id"},
            ErrorCode.INVALID_CONFIG,
            "Illegal client matching pattern: client_id",
        ),
    ],
)
def test_a_bad_subscription_is_refused_as_kafka_does(
    name: str, configs: dict[str, str], code: ErrorCode, message: str
) -> None:
    with pytest.raises(KafkaError) as caught:
        validate_client_metrics_configs(name, configs)
    assert (caught.value.code, caught.value.message) == (code, message)
