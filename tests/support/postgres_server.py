"""A real PostgreSQL on loopback, with a data directory of its own."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.ports import free_port
from tests.support.readiness import eventually, tail
from tests.support.tools import missing


def require_postgres() -> Path:
    """The directory of PostgreSQL's programs, the newest there is."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=_version)
    on_path = shutil.which("postgres")
    if found:
        return found[-1].parent
    if on_path is None:
        missing("PostgreSQL is not installed; `make packages` installs it on Debian")
    return Path(on_path).parent


def _version(path: Path) -> int:
    name = path.parent.parent.name
    return int(name) if name.isdigit() else 0


class PostgresServer:
    """Started and stopped as often as a test likes; the data stays until the end."""

    def __init__(self) -> None:
        self._programs = require_postgres()
        # Below a directory of pytest's nobody but its user may look, and PostgreSQL is not root.
        self._home = Path(tempfile.mkdtemp(prefix="headrace-postgres-"))
        self._as_user = _unprivileged(self._home)
        self._output = self._home / "output"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.dsn = f"postgresql://headrace@127.0.0.1:{self.port}/postgres"
        options = ["-U", "headrace", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-locale"]
        made = self._start("initdb", "-D", str(self._home / "data"), *options)
        if made.wait(60) != 0:
            raise AssertionError(tail(self._output))

    def __enter__(self) -> "PostgresServer":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.crash()
        shutil.rmtree(self._home)

    def start(self) -> None:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "fsync": "off",
            "shared_buffers": "16MB",
        }
        flags = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self._process = self._start("postgres", "-D", str(self._home / "data"), *flags)
        eventually(self._answers, timeout=60)

    def stop(self) -> None:
        """Clean, without waiting for clients."""
        self._end(signal.SIGINT)

    def crash(self) -> None:
        """Without a checkpoint: the next start recovers, and unlogged tables are empty then."""
        self._end(signal.SIGQUIT)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, on a connection of its own."""
        import psycopg

        with psycopg.connect(self.dsn) as link:
            cursor = link.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with self._output.open("ab") as output:
            return subprocess.Popen(
                [str(self._programs / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._home,
                **self._as_user,
            )

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def _answers(self) -> bool:
        import psycopg

        if self._process is None or self._process.poll() is not None:
            raise AssertionError(f"PostgreSQL ended\n{tail(self._output)}")
        try:
            self.query("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True


def _unprivileged(home: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root: whom it runs as then, with the directory given to them."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(home, user.pw_uid, user.pw_gid)
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return missing("PostgreSQL does not run as root, and there is no user postgres or nobody")
