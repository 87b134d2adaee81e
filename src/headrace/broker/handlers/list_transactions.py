"""ListTransactions: what this node coordinates, with filters (KIP-664, KIP-1152)."""

from __future__ import annotations

from collections.abc import Callable

from headrace.base.clock import Clock
from headrace.base.linear_regex import compile_regex
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.transactions import Transactions
from headrace.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from headrace.transactions.listing import Filter, listed
from headrace.transactions.states import STATES_BY_LABEL


class ListTransactionsHandler:
    """Serves API key 66."""

    def __init__(self, transactions: Transactions, clock: Clock) -> None:
        self._transactions = transactions
        self._clock = clock

    def __call__(
        self, context: RequestContext, request: ListTransactionsRequest
    ) -> ListTransactionsResponse:
        wanted = Filter(
            producer_ids=frozenset(request.producer_id_filters),
            states=frozenset(
                STATES_BY_LABEL[name] for name in request.state_filters if name in STATES_BY_LABEL
            )
            if request.state_filters
            else None,
            duration_ms=request.duration_filter,
            matches=_matcher(request.transactional_id_pattern),
        )
        now_ms = self._clock.wall_ms()
        found = []
        for shard in self._transactions.coordinators.active():
            found += listed(shard.coordinator, wanted, now_ms)
        kind = ResourceType.TRANSACTIONAL_ID
        return ListTransactionsResponse(
            unknown_state_filters=[
                name for name in request.state_filters if name not in STATES_BY_LABEL
            ],
            transaction_states=[
                state
                for state in found
                if context.allows(Operation.DESCRIBE, kind, state.transactional_id)
            ],
        )


def _matcher(pattern: str | None) -> Callable[[str], bool] | None:
    if not pattern:
        return None
    compiled = compile_regex(pattern, "Transaction ID pattern")
    return lambda transactional_id: compiled.fullmatch(transactional_id) is not None
