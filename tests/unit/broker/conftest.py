"""The broker that most tests of this package use."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.broker.harness import Broker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path)
    yield made
    made.close()
