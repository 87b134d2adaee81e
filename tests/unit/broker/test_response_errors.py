"""Every error code of a response is found, wherever its definition has one."""

from headrace.broker.response_errors import error_finder
from headrace.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from headrace.protocol.messages.api_versions import ApiVersionsResponse
from headrace.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from headrace.protocol.schema import Response


def codes(response: Response) -> list[int]:
    find = error_finder(type(response))
    assert find is not None
    return find(response)


def _topic(*errors: int) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        partitions=[OffsetCommitResponsePartition(error_code=error) for error in errors]
    )


def test_codes_of_partitions_of_topics_are_found_in_order() -> None:
    response = OffsetCommitResponse(topics=[_topic(0, 3), _topic(), _topic(12, 0, 3)])
    assert codes(response) == [3, 12, 3]


def test_nothing_is_found_where_nothing_went_wrong() -> None:
    assert codes(OffsetCommitResponse(topics=[_topic(0, 0)])) == []
    assert codes(OffsetCommitResponse()) == []


def test_a_code_at_the_top_is_found() -> None:
    assert codes(ApiVersionsResponse(error_code=35)) == [35]


def test_codes_at_several_depths_are_found() -> None:
    partition = AddPartitionsToTxnPartitionResult(partition_error_code=48)
    topic = AddPartitionsToTxnTopicResult(results_by_partition=[partition])
    transaction = AddPartitionsToTxnResult(topic_results=[topic])
    response = AddPartitionsToTxnResponse(error_code=15, results_by_transaction=[transaction])
    assert codes(response) == [15, 48]
