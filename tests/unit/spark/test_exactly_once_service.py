"""The driver's port outlives a caller that does it harm."""

import errno
import json
import socket
from typing import Any

import pytest

from headrace.spark.exactly_once_ledger import WriterLedger
from headrace.spark.exactly_once_service import LedgerService


class FlakyListener:
    """A listening socket whose first callers are gone again, or find no descriptor."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._errors = [errno.ECONNABORTED, errno.EMFILE]

    def accept(self) -> Any:
        if self._errors:
            raise OSError(self._errors.pop(0), "not now")
        return self._listener.accept()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listener, name)


def test_a_caller_that_cannot_be_taken_does_not_end_the_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create = socket.create_server
    monkeypatch.setattr(socket, "create_server", lambda *a, **k: FlakyListener(create(*a, **k)))
    with LedgerService(WriterLedger(), lambda partitions: None) as service:
        for task in (0, 1):
            with socket.create_connection(("127.0.0.1", service.port), timeout=30) as link:
                link.sendall(json.dumps({"claim": task, "token": service.token}).encode() + b"\n")
                assert json.loads(link.makefile().readline()) == {"go": True}
                if task == 0:
                    # It is done, or its end would be the transaction's.
                    link.sendall(b'{"done": 0}\n')
                    assert "ok" in json.loads(link.makefile().readline())
    assert not service._thread.is_alive()
