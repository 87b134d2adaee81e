"""Free loopback ports for servers whose configuration must name the port beforehand."""

import itertools
import os
import socket

# Below the range from which the kernel takes ports of outgoing connections, so that nothing
# takes a port between our look and the server's bind. Test processes start at different points.
_FIRST = 20_000
_COUNT = 12_000
_offsets = itertools.count(os.getpid() * 101)


def free_port() -> int:
    """A port on 127.0.0.1 that nobody listens on, never the same twice in a process."""
    for _ in range(_COUNT):
        port = _FIRST + next(_offsets) % _COUNT
        with socket.socket() as probe:
            # As servers do: a port in TIME_WAIT from an earlier server is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port on 127.0.0.1")
