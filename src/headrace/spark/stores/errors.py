"""What goes wrong with a file or a database, in one sentence that also survives a Spark task.

A failure in a task reaches the driver as a long text of Spark's. Our own sentence is found in it
again by the class name in front, so that the driver can tell a database that is down, which is
worth another try, from one that refuses the data, which is not.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from headrace.spark.errors import PipelineError


class StoreError(PipelineError):
    """The target refused what was written; trying again would not help."""


class StoreUnavailable(StoreError):
    """The target cannot be reached now; the batch is whole and may be tried again."""


_RAISED = re.compile(r"headrace\.spark\.stores\.errors\.(StoreError|StoreUnavailable): ([^\r\n]*)")


def of_task(error: BaseException) -> StoreError | None:
    """The failure that a task of ours raised, out of what Spark made of it; None for others."""
    if isinstance(error, StoreError):
        return error
    found = _RAISED.search(str(error))
    if found is None:
        return None
    kind, sentence = found.groups()
    return StoreUnavailable(sentence) if kind == "StoreUnavailable" else StoreError(sentence)


def require(module: str, why: str) -> Any:
    """A package of the extra `stores`, imported when it is first needed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise StoreError(
            f"{why} needs the package {module.partition('.')[0]} ({error}): pip install"
            " 'headrace[stores]', on the executors too."
        ) from None


def one_line(text: object) -> str:
    """The first sentence of a driver's message, fit for one of ours."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else "no reason given"
