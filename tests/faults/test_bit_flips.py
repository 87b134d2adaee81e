"""Bit flips in every kind of file, by the hundred."""

import random
from pathlib import Path

import pytest

from tests.support.bit_flips import KINDS, FlippedBits

_FLIPS = 8


@pytest.fixture(scope="module")
def flipped_bits(tmp_path_factory: pytest.TempPathFactory) -> FlippedBits:
    return FlippedBits(tmp_path_factory.mktemp("written") / "data")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_noticed_or_does_no_harm(
    kind: str, seed: int, flipped_bits: FlippedBits, tmp_path: Path
) -> None:
    chance = random.Random(f"{kind} {seed}")
    for number in range(_FLIPS):
        flipped_bits.flip_and_start(kind, chance, tmp_path / f"copy-{number}")
