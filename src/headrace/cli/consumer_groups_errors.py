"""Errors in the words of Kafka's Java client, for tools whose output holds them."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.cli.failure import describe

#: Kafka's sentence where a broker gives a code alone.
_SENTENCES = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.INVALID_GROUP_ID: "The group id is invalid.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
    ErrorCode.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: (
        "Deleting offsets of a topic is forbidden while the consumer group is actively"
        " subscribed to it."
    ),
    ErrorCode.UNKNOWN_MEMBER_ID: "The coordinator is not aware of this member.",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "The transactionalId could not be found.",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: (
        "For requests intended only for the leader, this error indicates that the broker is not"
        " the current leader. For requests intended for any replica, this error indicates that"
        " the broker is not a replica of the topic partition."
    ),
    ErrorCode.INVALID_PRODUCER_EPOCH: "Producer attempted to produce with an old epoch.",
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: (
        "Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the"
        " current coordinator for a given producer."
    ),
}
#: Classes that are not named after their codes.
_CLASSES = {
    ErrorCode.NON_EMPTY_GROUP: "GroupNotEmpty",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "GroupAuthorization",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorization",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorization",
    ErrorCode.REQUEST_TIMED_OUT: "Timeout",
    ErrorCode.NETWORK_EXCEPTION: "Disconnect",
}


def sentence(error: KafkaError) -> str:
    """The broker's sentence, else Kafka's for the code."""
    if error.message:
        return error.message
    return _SENTENCES.get(error.code) or describe(error)


def java_text(error: KafkaError) -> str:
    """The exception as Java prints it: its class, then its sentence."""
    words = error.code.name.split("_")
    plain = "".join(word.capitalize() for word in words).removesuffix("Exception")
    name = _CLASSES.get(error.code, plain)
    return f"org.apache.kafka.common.errors.{name}Exception: {sentence(error)}"
