"""What happens to transactional ids by the clock: abandoned transactions, forgotten ids."""

from __future__ import annotations

from itertools import islice

from headrace.base.errors import KafkaError
from headrace.base.outcome import Outcome, SetTimer
from headrace.transactions.config import TransactionConfig
from headrace.transactions.effects import TransactionOutcome
from headrace.transactions.ending import Ending
from headrace.transactions.states import AT_REST
from headrace.transactions.store import TransactionStore
from headrace.transactions.transaction import Transaction

ABORT_TIMER = "abort"
EXPIRY_TIMER = "expire"
#: Transactions whose end is begun in one step, so that others have their turn before the next ones.
ENDED_AT_ONCE = 50
#: The timeout of a transaction that another system commits (KIP-939): only that may end it.
_NO_TIMEOUT_MS = 2**31 - 1


class Upkeep:
    """Looks through the ids from time to time; only while there is something to look for."""

    def __init__(self, config: TransactionConfig, store: TransactionStore, ending: Ending) -> None:
        self._config = config
        self._store = store
        self._ending = ending

    def abort_check(self, now_ms: int) -> SetTimer:
        """Set whenever a transaction opens while no other is open."""
        return SetTimer(ABORT_TIMER, now_ms + self._config.abort_check_interval_ms)

    def expiry_check(self, now_ms: int) -> SetTimer:
        return SetTimer(EXPIRY_TIMER, now_ms + self._config.expiration_check_interval_ms)

    def abort_late(self, now_ms: int) -> TransactionOutcome:
        """Abort what is open for longer than its producer asked for; some at a time."""
        outcome: TransactionOutcome = Outcome(is_atomic=False)
        all_late = (one for one in self._store.ongoing.values() if _is_late(one, now_ms))
        late = list(islice(all_late, ENDED_AT_ONCE))
        aborted = []
        for transaction in late:
            try:
                one = self._ending.fence(transaction, now_ms, [])
            except KafkaError:
                continue  # no producer id is at hand for now; the next look will do
            outcome.records += one.records
            outcome.effects += one.effects
            aborted.append(transaction.transactional_id)
        if aborted and len(late) == ENDED_AT_ONCE:
            outcome.timers.append(SetTimer(ABORT_TIMER, now_ms))
        elif len(aborted) < len(self._store.ongoing):
            outcome.timers.append(self.abort_check(now_ms))

        def failed(error: KafkaError, failed_ms: int) -> TransactionOutcome:
            # Those that were written before it came to this are to be ended all the same.
            ending = [self._store.ending[one] for one in aborted if one in self._store.ending]
            effects = [self._ending.markers(one) for one in ending]
            return Outcome(timers=[self.abort_check(failed_ms)], effects=effects)

        outcome.if_failed = failed
        return outcome

    def expire(self, now_ms: int) -> TransactionOutcome:
        """Forget ids that nobody has used for long; their producer ids are gone with them."""
        oldest_ms = now_ms - self._config.id_expiration_ms
        return Outcome(
            records=[
                (transaction.transactional_id, None)
                for transaction in self._store
                if transaction.state in AT_REST and transaction.last_update_ms <= oldest_ms
            ],
            is_atomic=False,
            timers=[self.expiry_check(now_ms)],
            if_failed=lambda error, failed_ms: Outcome(timers=[self.expiry_check(failed_ms)]),
        )


def _is_late(transaction: Transaction, now_ms: int) -> bool:
    if transaction.timeout_ms == _NO_TIMEOUT_MS:
        return False
    return transaction.start_ms + transaction.timeout_ms < now_ms
