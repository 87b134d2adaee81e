"""Ports for embedded nodes."""

from __future__ import annotations

import random
import socket

# Below the range from which kernels take the ports of outgoing connections: while a node is down,
# no client's connection can sit on the port that the node will want back.
_FIRST = 20_000
_LAST = 31_999
_ATTEMPTS = 200


def free_port() -> int:
    """A port on 127.0.0.1 that nobody listens on."""
    for _ in range(_ATTEMPTS):
        port = random.randint(_FIRST, _LAST)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("There is no free port on 127.0.0.1.")
