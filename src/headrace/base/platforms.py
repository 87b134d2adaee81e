"""Where Headrace runs."""

from __future__ import annotations

import sys

_ON_WINDOWS = (
    "Headrace runs on Linux and macOS: on Windows install WSL (`wsl --install`) and use it there."
)


def what_to_do_here() -> str | None:
    """A sentence for whoever started us on a system that we do not run on."""
    return _ON_WINDOWS if sys.platform == "win32" else None
