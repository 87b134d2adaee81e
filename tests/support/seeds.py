"""Which seeds the tests of random schedules play, and how a failure tells its seed.

A normal run plays the same seeds every time. HEADRACE_SEEDS, a number or a range like 5000-5999,
puts others in their place: `make sim` sets it to many, and one number plays a failure again.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager


def seed_blocks(count: int, size: int) -> list[range]:
    """The seeds of a test in blocks of `size`; `count` of them unless HEADRACE_SEEDS says more."""
    first, dash, last = os.environ.get("HEADRACE_SEEDS", f"0-{count - 1}").partition("-")
    end = int(last if dash else first) + 1
    return [range(start, min(start + size, end)) for start in range(int(first), end, size)]


def block_name(block: range) -> str:
    """The name of a block among a test's parameters."""
    return str(block.start)


@contextmanager
def playing(seed: int) -> Iterator[None]:
    """Whatever goes wrong inside says with which seed."""
    try:
        yield
    except Exception as failure:
        raise AssertionError(f"seed {seed}: {failure!r}") from failure
