"""Whatever stands in `__transaction_state`, a record is decoded, left alone or refused.

FUZZ_SEED tries other inputs.
"""

import os
import random
from collections.abc import Iterator

import pytest

from headrace.protocol import compiler
from headrace.transactions.record_codec import TransactionRecordCodec
from headrace.transactions.records import TransactionLogKey, TransactionLogValue
from headrace.transactions.states import TransactionState
from tests.support.message_values import sample_messages
from tests.unit.protocol.damaged_records import Pair, check_decoder
from tests.unit.protocol.mutations import damaged

SEED = int(os.environ.get("FUZZ_SEED", "20240917"))
INPUTS = 20_000


def _values(version: int) -> list[bytes]:
    found = []
    for number, (_, message) in enumerate(sample_messages(TransactionLogValue, version)):
        assert isinstance(message, TransactionLogValue)
        # A sample's status is any number, and one that does not exist hides all that follows.
        message.transaction_status = list(TransactionState)[number % len(TransactionState)]
        found.append(version.to_bytes(2, "big") + compiler.encode(message, version))
    return found


@pytest.mark.parametrize("version", [0, 1])
def test_a_damaged_record_is_decoded_or_left_alone_or_refused(version: int) -> None:
    chance = random.Random(SEED)
    codec = TransactionRecordCodec(lambda: version)
    keys = [b"\0\0" + compiler.encode(key, 0) for _, key in sample_messages(TransactionLogKey, 0)]
    values = _values(version)

    def pairs() -> Iterator[Pair]:
        for _ in range(INPUTS):
            key = chance.choice(keys) if chance.random() < 0.7 else damaged(chance, keys)
            yield key, damaged(chance, values)

    check_decoder(codec, pairs())
