"""One client of each registry in each process, so that a schema is asked for once."""

from __future__ import annotations

import atexit
from threading import Lock

from headrace.serde.registry_client import RegistryClient
from headrace.spark.registry.settings import Settings

_clients: dict[Settings, RegistryClient] = {}
_lock = Lock()


def client_for(settings: Settings) -> RegistryClient:
    with _lock:
        found = _clients.get(settings)
        if found is None:
            found = _clients[settings] = RegistryClient.from_settings(dict(settings))
        return found


@atexit.register
def close_clients() -> None:
    """Let go of connections; whoever still has a client may go on using it."""
    with _lock:
        while _clients:
            _clients.popitem()[1].close()
