"""How a tool fails: one clear sentence on stderr and an exit code, never a traceback."""

from __future__ import annotations

import sys

from headrace.base.errors import ErrorCode, KafkaError

#: What the codes mean that a user of the tools can meet without a sentence from the broker.
_MEANINGS = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "The broker failed; its log says why.",
    ErrorCode.OFFSET_OUT_OF_RANGE: "The offset lies outside of what the partition holds.",
    ErrorCode.CORRUPT_MESSAGE: "A record did not arrive as it was sent.",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "There is no such topic or partition.",
    ErrorCode.LEADER_NOT_AVAILABLE: "The partition has no leader now.",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "The broker does not lead this partition.",
    ErrorCode.REQUEST_TIMED_OUT: "The request timed out.",
    ErrorCode.MESSAGE_TOO_LARGE: "The records are larger than max.message.bytes allows.",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "The topic name is not valid.",
    ErrorCode.NOT_ENOUGH_REPLICAS: "Fewer replicas are in sync than min.insync.replicas asks for.",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "You may not do this with this topic.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "You may not do this with this cluster.",
    ErrorCode.UNSUPPORTED_VERSION: "The broker does not support this request.",
    ErrorCode.TOPIC_ALREADY_EXISTS: "The topic exists already.",
    ErrorCode.INVALID_PARTITIONS: "The number of partitions is not valid.",
    ErrorCode.INVALID_REPLICATION_FACTOR: "The replication factor is not valid for this cluster.",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "The replica assignment is not valid.",
    ErrorCode.INVALID_CONFIG: "The configuration is not valid.",
    ErrorCode.NOT_CONTROLLER: "The node is not the active controller.",
    ErrorCode.POLICY_VIOLATION: "A policy of the cluster forbids this.",
    ErrorCode.SECURITY_DISABLED: "Security features are disabled in this cluster.",
    ErrorCode.KAFKA_STORAGE_ERROR: "The broker cannot use the partition's data directory.",
    ErrorCode.TOPIC_DELETION_DISABLED: "The cluster does not allow topics to be deleted.",
    ErrorCode.INVALID_RECORD: "A record is not valid for this topic.",
    ErrorCode.UNKNOWN_TOPIC_ID: "There is no topic with this id.",
    ErrorCode.BROKER_ID_NOT_REGISTERED: "The given broker ID was not registered.",
    ErrorCode.UNSUPPORTED_ENDPOINT_TYPE: "The node does not serve this kind of request.",
}


class CommandFailedError(Exception):
    """A tool cannot do what was asked; the text is the sentence for the user."""

    exit_code = 1


class UsageError(CommandFailedError):
    """The arguments make no sense together."""

    exit_code = 2


def describe(error: KafkaError) -> str:
    """The broker's own sentence, or ours for its error code."""
    if error.message:
        return error.message
    return _MEANINGS.get(error.code, f"The broker answered {error.code.name}.")


def said_by_librdkafka(error: Exception) -> str | None:
    """Its sentence, if an error is one of the library that the measuring tools use."""
    library = sys.modules.get("confluent_kafka")
    if library is None or not isinstance(error, library.KafkaException):
        return None
    return str(error.args[0].str()) + "."
