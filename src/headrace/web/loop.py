"""The event loop that our HTTP services run on."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's where it is installed; None for the one that comes with Python."""
    if sys.platform != "win32":
        with contextlib.suppress(ImportError):
            import uvloop

            factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
            return factory
    return None
