"""A real Redis on loopback, read through its own redis-cli."""

import subprocess
from pathlib import Path
from types import TracebackType

from tests.support.child import Child
from tests.support.ports import free_port
from tests.support.readiness import eventually, tail
from tests.support.tools import require_program


class RedisServer:
    """Started and stopped as often as a test likes; it keeps what it was told in its directory."""

    def __init__(self, directory: Path, password: str | None = None) -> None:
        self._program = require_program("redis-server")
        self._client = require_program("redis-cli")
        self._directory = directory
        self._password = password
        self._child = Child(directory / "output")
        self.port = free_port()
        secret = "" if password is None else f":{password}@"
        self.url = f"redis://{secret}127.0.0.1:{self.port}/0"

    def __enter__(self) -> "RedisServer":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._child.kill()

    def start(self) -> None:
        options = {
            "--port": str(self.port),
            "--bind": "127.0.0.1",
            "--dir": str(self._directory),
            "--appendonly": "yes",
            "--appendfsync": "no",
            "--save": "",
        }
        if self._password is not None:
            options["--requirepass"] = self._password
        self._child.start([self._program, *(word for item in options.items() for word in item)])
        eventually(self._answers)

    def stop(self) -> None:
        self._child.stop()

    def ask(self, *words: str, database: int = 0) -> str:
        """What redis-cli prints, without its last line end."""
        secret = [] if self._password is None else ["--no-auth-warning", "-a", self._password]
        command = [self._client, "-p", str(self.port), "-n", str(database), *secret, *words]
        answer = subprocess.run(command, capture_output=True, timeout=30, check=False)
        return answer.stdout.decode().removesuffix("\n")

    def hash(self, key: str) -> dict[str, str]:
        """The fields of a hash; none if there is no such key."""
        lines = self.ask("HGETALL", key).split("\n")
        return dict(zip(lines[::2], lines[1::2], strict=False))

    def _answers(self) -> bool:
        if not self._child.is_running:
            raise AssertionError(f"Redis ended\n{tail(self._child.output)}")
        return self.ask("PING") == "PONG"
