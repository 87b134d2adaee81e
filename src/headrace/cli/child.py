"""Runs a command of `headrace` for another process: it ends when its standard input does.

So a child never outlives whoever started it, even one that was killed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from headrace.cli.main import main


def _end_with_input() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_input, daemon=True).start()
    sys.exit(main(sys.argv[1:]))
