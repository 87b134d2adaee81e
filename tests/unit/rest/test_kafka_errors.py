"""Errors of Kafka in the codes that clients of Confluent's proxy know."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.rest.kafka_errors import from_kafka, kafka_code, record_code


@pytest.mark.parametrize(
    ("error", "wanted", "of_a_record"),
    [
        (KafkaError.SASL_AUTHENTICATION_FAILED, (401, 40101), (401, 40101)),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, (403, 40301), (403, 40301)),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, (404, 40403), (200, 50003)),
        (KafkaError.UNKNOWN_TOPIC_ID, (404, 40403), (200, 50003)),
        (KafkaError.TOPIC_ALREADY_EXISTS, (400, 40002), (200, 50002)),
        (KafkaError.UNSUPPORTED_VERSION, (400, 40002), (200, 50002)),
        (KafkaError.MSG_SIZE_TOO_LARGE, (413, 413), (200, 50002)),
        (KafkaError.THROTTLING_QUOTA_EXCEEDED, (429, 42901), (200, 50003)),
        (KafkaError.NOT_ENOUGH_REPLICAS, (500, 50003), (200, 50003)),
        (KafkaError._MSG_TIMED_OUT, (500, 50003), (200, 50003)),
        (KafkaError._TRANSPORT, (503, 50302), (200, 50003)),
        (KafkaError.INVALID_RECORD, (500, 50002), (200, 50002)),
        (KafkaError.UNKNOWN, (500, 50002), (200, 50002)),
    ],
)
def test_each_error_has_its_code(
    error: int, wanted: tuple[int, int], of_a_record: tuple[int, int]
) -> None:
    assert kafka_code(KafkaError(error)) == wanted
    assert record_code(KafkaError(error)) == of_a_record


def test_what_the_client_could_not_name_is_told_all_the_same() -> None:
    failure = from_kafka(KafkaException("odd"))
    assert (failure.status, failure.code, failure.message) == (500, 50002, "Kafka error: odd")
