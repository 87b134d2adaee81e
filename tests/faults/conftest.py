"""Long runs against real processes. `make faults` runs them; nothing else does."""

import os
from pathlib import Path

import pytest

from tests.interop.conftest import tools as tools

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave them out unless this directory, or something in it, was asked for by name."""
    asked = [Path(str(argument).partition("::")[0]).resolve() for argument in config.args]
    if any(path.is_relative_to(HERE) for path in asked):
        return
    left_out = [item for item in items if item.path.is_relative_to(HERE)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.path.is_relative_to(HERE)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with a `seed` runs for every seed of FAULT_SEEDS, a number or a range like 5-9."""
    if "seed" in metafunc.fixturenames:
        first, _, last = os.environ.get("FAULT_SEEDS", "1-10").partition("-")
        metafunc.parametrize("seed", range(int(first), int(last or first) + 1))
