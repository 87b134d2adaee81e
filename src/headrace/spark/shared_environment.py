"""The environment of Spark's planning processes, made ready before queries start at once.

All streaming queries of a session share one map of variables for the Python processes that plan
`format("headrace")`, and Spark 4.3 adds its own to it while each query starts, without a lock. Two
queries that start together could both add the same one: the map then counts more than it holds,
and from there on no task of the session can be serialized ("Illegal size 5 of collection, expected
6"). Once the names are there, Spark only replaces their values, which harms nobody.
"""

from __future__ import annotations

import threading
from typing import Any

#: What Spark sets when it starts the process that plans a streaming query, before it starts it.
_SET_BY_SPARK = (
    "SPARK_LOCAL_DIRS",
    "SPARK_AUTH_SOCKET_TIMEOUT",
    "SPARK_BUFFER_SIZE",
    "SPARK_PYTHON_RUNTIME",
)
_lock = threading.Lock()


def settle_environment(session: Any, source: str = "headrace") -> None:
    """Put the names into the map; to be called before the session's first query starts."""
    with _lock:
        variables = _variables(session, source)
        for name in _SET_BY_SPARK:
            if variables is not None and not variables.containsKey(name):
                variables.put(name, "")


def _variables(session: Any, source: str) -> Any:
    """None if this Spark keeps them elsewhere: then they are its own business."""
    from py4j.protocol import Py4JError

    try:
        manager = session._jsparkSession.sessionState().dataSourceManager()
        return manager.lookupDataSource(source).dataSourceCls().envVars()
    except Py4JError:
        return None
