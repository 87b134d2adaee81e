"""Bit flips in every kind of file, by the hundred."""

import random
from pathlib import Path

import pytest

from tests.support.bit_flips import KINDS, FlippedBits, Kind

_FLIPS = 8


@pytest.fixture(scope="module")
def flipped_bits(tmp_path_factory: pytest.TempPathFactory) -> FlippedBits:
    return FlippedBits(tmp_path_factory.mktemp("written") / "data")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.files)
def test_a_flipped_bit_is_noticed_or_does_no_harm(
    kind: Kind, seed: int, flipped_bits: FlippedBits, tmp_path: Path
) -> None:
    chance = random.Random(f"{kind.files} {seed}")
    for number in range(_FLIPS):
        flipped_bits.flip_and_start(kind, chance, tmp_path / f"copy-{number}")
