"""The broker that most tests of this package use, and a look at what it recognises."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.broker.harness import Broker
from tests.unit.broker.twins import count_served


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path)
    yield made
    made.close()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many requests were served the known way, and how many were declined."""
    return count_served(monkeypatch)
