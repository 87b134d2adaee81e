"""A flipped bit in every kind of file: noticed, or without harm. `make faults` flips hundreds."""

import random
from pathlib import Path

import pytest

from tests.support.bit_flips import KINDS, FlippedBits, Kind

pytestmark = pytest.mark.no_second_chance


@pytest.fixture(scope="module")
def flipped_bits(tmp_path_factory: pytest.TempPathFactory) -> FlippedBits:
    return FlippedBits(tmp_path_factory.mktemp("written") / "data")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.files)
def test_a_flipped_bit_is_noticed_or_does_no_harm(
    kind: Kind, flipped_bits: FlippedBits, tmp_path: Path
) -> None:
    chance = random.Random(f"{kind.files} of every change")
    for number in range(2):
        flipped_bits.flip_and_start(kind, chance, tmp_path / f"copy-{number}")
