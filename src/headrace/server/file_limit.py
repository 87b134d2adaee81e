"""How many connections fit beside the log files, under the system's limit of open files.

Without a bound, clients that open connections and do nothing would take the descriptors that the
logs need. So connections get what the logs leave, and whoever comes later is refused.
"""

from __future__ import annotations

import contextlib
import sys

#: A node asks for no more than this by itself, and is content with less: a Mac says that there is
#: no limit, and refuses what is above one that it does not tell (10,240 is always allowed).
_WANTED = (65_536, 32_768, 16_384, 10_240, 4_096)
#: Indexes, checkpoints, pipes to helper processes, listeners, status pages.
_KEPT_FOR_OTHERS_MAX = 128
#: The socket, and a second descriptor while files are sent past the transport.
_PER_CONNECTION = 2
_CONNECTIONS_MIN = 8
#: Connections of operators and, in a cluster, of other nodes.
_CONTROLLER_MAX = 64


def raise_file_limit() -> None:
    """Take what the system allows without asking: its default suits interactive programs."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return
    for wanted in _WANTED:
        most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        if most <= soft:
            return
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            return


def connections_that_fit(files_max: int, log_files_max: int) -> int:
    """How many connections a process has room for that may open `files_max` files."""
    kept = min(_KEPT_FOR_OTHERS_MAX, files_max // 8)
    return max((files_max - log_files_max - kept) // _PER_CONNECTION, _CONNECTIONS_MIN)


def rooms(connections: int) -> dict[bool, int]:
    """What the listeners of clients (False) and those of the controller (True) get of them."""
    for_controller = max(min(_CONTROLLER_MAX, connections // 8), 1)
    return {False: connections - for_controller, True: for_controller}
