"""ListTransactions: what this node coordinates, with filters (KIP-664, KIP-1152)."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from headrace.base.clock import Clock
from headrace.base.errors import KafkaError
from headrace.base.linear_regex import compile_regex
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.long_answers import answer_in_steps
from headrace.broker.coordination.shard import Shard
from headrace.broker.coordination.transactions import Transactions
from headrace.broker.parked import Parked
from headrace.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from headrace.protocol.schema import Response
from headrace.transactions.listing import Filter, listed
from headrace.transactions.states import STATES_BY_LABEL
from headrace.transactions.transaction import Transaction


class ListTransactionsHandler:
    """Serves API key 66."""

    def __init__(self, transactions: Transactions, clock: Clock) -> None:
        self._transactions = transactions
        self._clock = clock

    def __call__(self, context: RequestContext, request: ListTransactionsRequest) -> Parked:
        pattern = request.transactional_id_pattern
        wanted = Filter(
            producer_ids=frozenset(request.producer_id_filters),
            states=frozenset(
                STATES_BY_LABEL[name] for name in request.state_filters if name in STATES_BY_LABEL
            )
            if request.state_filters
            else None,
            duration_ms=request.duration_filter,
            pattern=compile_regex(pattern, "Transaction ID pattern") if pattern else None,
        )
        coordinators = self._transactions.coordinators
        steps = self._list(coordinators.active(), context, request, wanted)
        return answer_in_steps(steps, context.api_version, coordinators.turns.add, _refused)

    def _list(
        self,
        shards: Sequence[Shard],
        context: RequestContext,
        request: ListTransactionsRequest,
        wanted: Filter,
    ) -> Generator[int, None, Response]:
        kind = ResourceType.TRANSACTIONAL_ID
        found = yield from listed(
            _transactions_of(shards),
            wanted,
            lambda name: context.allows(Operation.DESCRIBE, kind, name),
            self._clock.wall_ms(),
        )
        return ListTransactionsResponse(
            unknown_state_filters=[
                name for name in request.state_filters if name not in STATES_BY_LABEL
            ],
            transaction_states=found,
        )


def _transactions_of(shards: Sequence[Shard]) -> Iterator[Transaction]:
    """Of one shard after the other, each as it is when its turn comes."""
    for shard in shards:
        yield from list(shard.coordinator)


def _refused(error: KafkaError) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=int(error.code))
