"""Something that goes on in a thread of its own while a test does something else."""

import threading


class Background:
    """Runs `_run` from `start` until it is told to stop; a subclass says what that is."""

    def __init__(self, name: str) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def abandon(self) -> None:
        """Stop without any questions: the test has failed already."""
        self._stop.set()

    def stop(self, timeout: float = 60.0) -> None:
        """Return when it has stopped."""
        self._stop.set()
        self._thread.join(timeout)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        """Look at `_stop` now and then."""
        raise NotImplementedError
