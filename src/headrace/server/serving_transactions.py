"""The rows of the API table that transactions need."""

from __future__ import annotations

from headrace.base.clock import Clock
from headrace.broker.api_table import Access, Handler, on_each
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.coordination.groups import Groups
from headrace.broker.handlers.add_offsets_to_txn import AddOffsetsToTxnHandler
from headrace.broker.handlers.add_partitions_to_txn import AddPartitionsToTxnHandler
from headrace.broker.handlers.describe_transactions import DescribeTransactionsHandler
from headrace.broker.handlers.end_txn import EndTxnHandler
from headrace.broker.handlers.init_producer_id import InitProducerIdHandler
from headrace.broker.handlers.list_transactions import ListTransactionsHandler
from headrace.broker.handlers.txn_offset_commit import TxnOffsetCommitHandler
from headrace.broker.handlers.write_txn_markers import WriteTxnMarkersHandler
from headrace.protocol.apis import ApiKey
from headrace.server.transaction_coordination import TransactionServices


def transaction_rows(
    services: TransactionServices, groups: Groups, cluster: ClusterView, clock: Clock
) -> list[tuple[ApiKey, Access, Handler]]:
    transactions = services.transactions
    write = on_each(Operation.WRITE, ResourceType.TRANSACTIONAL_ID)
    describe = on_each(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID)
    return [
        (
            ApiKey.INIT_PRODUCER_ID,
            # Without a transactional id: IdempotentWrite on the cluster, or Write on any topic
            # (KIP-679).
            write,
            InitProducerIdHandler(services.producer_ids, transactions),
        ),
        (ApiKey.ADD_PARTITIONS_TO_TXN, write, AddPartitionsToTxnHandler(transactions, cluster)),
        (ApiKey.ADD_OFFSETS_TO_TXN, write, AddOffsetsToTxnHandler(transactions, groups)),
        (ApiKey.END_TXN, write, EndTxnHandler(transactions)),
        (
            ApiKey.WRITE_TXN_MARKERS,
            # From another node, or from an administrator, who needs Alter.
            on_each(Operation.CLUSTER_ACTION, ResourceType.CLUSTER),
            WriteTxnMarkersHandler(services.markers),
        ),
        (
            ApiKey.TXN_OFFSET_COMMIT,
            write,
            TxnOffsetCommitHandler(groups, services.admission, cluster),
        ),
        (ApiKey.DESCRIBE_TRANSACTIONS, describe, DescribeTransactionsHandler(transactions)),
        (ApiKey.LIST_TRANSACTIONS, describe, ListTransactionsHandler(transactions, clock)),
    ]
