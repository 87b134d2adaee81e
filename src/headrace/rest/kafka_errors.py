"""What Kafka refuses, in the codes of the API; the table is that of Confluent's proxy.

Its one oddity is left out: an error that the broker did not expect is its fault, not the client's.
"""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from headrace.rest.errors import RestError

_AUTHENTICATION = (401, 40101)
_AUTHORIZATION = (403, 40301)
_FAILED = (500, 50002)
_RETRIABLE = (500, 50003)

_CODES: dict[tuple[int, int], tuple[int, ...]] = {
    _AUTHENTICATION: (
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.ILLEGAL_SASL_STATE,
        KafkaError._AUTHENTICATION,
    ),
    _AUTHORIZATION: (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    ),
    (404, 40403): (
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError._UNKNOWN_TOPIC,
    ),
    (400, 40002): (
        KafkaError.INVALID_REPLICATION_FACTOR,
        KafkaError.SECURITY_DISABLED,
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError.INVALID_PARTITIONS,
        KafkaError.INVALID_REQUEST,
        KafkaError.POLICY_VIOLATION,
        KafkaError.TOPIC_ALREADY_EXISTS,
        KafkaError.INVALID_CONFIG,
        KafkaError.TOPIC_DELETION_DISABLED,
        KafkaError.TOPIC_EXCEPTION,
        # These have no code of their own there; they are the client's mistakes all the same.
        KafkaError.INVALID_REPLICA_ASSIGNMENT,
        KafkaError.INVALID_GROUP_ID,
        KafkaError._INVALID_ARG,
    ),
    (413, 413): (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE),
    (429, 42901): (KafkaError.THROTTLING_QUOTA_EXCEEDED,),
    # librdkafka tells of brokers that it cannot reach; Java's client only runs out of time.
    (503, 50302): (
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TRANSPORT,
    ),
    _RETRIABLE: (
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._QUEUE_FULL,
        KafkaError._WAIT_COORD,
        KafkaError._ISR_INSUFF,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.INVALID_MSG,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.NOT_CONTROLLER,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.PREFERRED_LEADER_NOT_AVAILABLE,
        KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError.REBALANCE_IN_PROGRESS,
    ),
}
_BY_ERROR = {error: found for found, errors in _CODES.items() for error in errors}
#: What is told of a single record of a v2 request; everything else is one of the other two.
_OF_RECORDS = (_AUTHENTICATION, _AUTHORIZATION)
_WORTH_ANOTHER_TRY = (_RETRIABLE, (404, 40403), (429, 42901), (503, 50302))


def kafka_code(error: KafkaError) -> tuple[int, int]:
    """The HTTP status and the API's code of an error of Kafka."""
    found = _BY_ERROR.get(error.code())
    return found or (_RETRIABLE if error.retriable() else _FAILED)


def record_code(error: KafkaError) -> tuple[int, int]:
    """The same for one record of several; the status only matters if the client may not write."""
    found = kafka_code(error)
    if found in _OF_RECORDS:
        return found
    return (200, 50003) if found in _WORTH_ANOTHER_TRY else (200, 50002)


def from_kafka(failure: KafkaException | KafkaError) -> RestError:
    error = failure.args[0] if isinstance(failure, KafkaException) else failure
    if not isinstance(error, KafkaError):
        return RestError(*_FAILED, f"Kafka error: {error}")
    status, code = kafka_code(error)
    return RestError(status, code, error.str())
