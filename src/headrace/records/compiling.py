"""How kernels are compiled: once, with the machine code kept for the next process.

Numba keeps it beside the source, or in the user's cache directory where the package is installed
read-only. Where neither can be written (a container without a home), it is kept below the
temporary directory, in a directory of this user's own.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """The function as machine code that holds no interpreter lock."""
    kernel: Any
    try:
        kernel = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # Numba found no place for its cache
        directory = _own_directory()
        if directory is not None:
            config: Any = numba.config
            config.CACHE_DIR = str(directory)
        kernel = numba.njit(cache=directory is not None, nogil=True)(function)
    return cast("_F", kernel)


def _own_directory() -> Path | None:
    """A directory that nobody else can write to: what lies in it is run."""
    path = Path(tempfile.gettempdir()) / f"headrace-kernels-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError:
        return None
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return path if is_ours and not found.st_mode & 0o022 else None
