"""Damaged records of a coordinator's log: decoded, left alone or refused, and nothing else."""

from collections.abc import Iterable
from typing import Any, Protocol

import pytest

from headrace.protocol.errors import ProtocolError

#: Key and value.
Pair = tuple[bytes, bytes]


class RecordCodec(Protocol):
    """What reads and writes such records."""

    @property
    def decode(self) -> Any: ...

    @property
    def encode(self) -> Any: ...


def check_decoder(codec: RecordCodec, pairs: Iterable[Pair]) -> None:
    """Give it every pair; the damage must be such that each outcome occurs."""
    decoded = left_alone = refused = 0
    for key, value in pairs:
        try:
            record = codec.decode(key, value)
            if record is None:
                left_alone += 1
            else:
                decoded += 1
                codec.encode(*record)  # whatever was taken in can be written again
        except ProtocolError:
            refused += 1
        except Exception as error:
            pytest.fail(f"{error!r} on {key.hex()} {value.hex()}")
    assert min(decoded, refused) > (decoded + left_alone + refused) // 10
    assert left_alone > 0
