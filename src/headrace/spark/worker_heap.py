"""Keeps the heap of Spark's Python workers out of the way of the garbage collector.

PySpark collects all garbage after every task. With Numba, Arrow and PySpark loaded that is a walk
over half a million objects, a tenth of a second, and it was most of what a small micro-batch cost.
What is loaded stays for the life of the worker, so it need not be looked at again.
"""

from __future__ import annotations

import gc

_done: list[bool] = []


def settle_heap() -> None:
    """To be called once everything heavy is loaded; does something the first time only."""
    if not _done:
        _done.append(True)
        gc.collect()
        gc.freeze()
