"""A real standalone cluster of Spark on this machine: a master, two workers, executors of its own.

with SparkCluster(tmp_path) as cluster:
    program = cluster.submit("copy", {...})       # tests.support.spark_programs
    cluster.kill_executor(chance)
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.child import Child
from tests.support.ports import free_port
from tests.support.readiness import eventually
from tests.support.spark import require_spark
from tests.support.tools import REPOSITORY

_WORKERS = 2
_START_S = 90.0
_EXECUTOR = b"CoarseGrainedExecutorBackend"


class SparkCluster:
    """Two workers with a core each; programs run against it as drivers of their own."""

    def __init__(self, directory: Path) -> None:
        require_spark()
        self._directory = directory
        self._port = free_port()
        self._master = Child(directory / "master.log")
        self._workers = [Child(directory / f"worker-{n}.log") for n in range(_WORKERS)]
        self._programs: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        for program in self._programs:
            if program.poll() is None:
                kill_program(program)
        executors = self.executors()
        for child in [*self._workers, self._master]:
            if child.is_running:
                child.kill()
        for pid in executors:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def submit(self, program: str, arguments: dict[str, Any], **conf: str) -> Program:
        """Start a program of `tests.support.spark_programs` as a driver on this cluster."""
        output = self._directory / f"driver-{len(self._programs)}.log"
        settings = {name.replace("__", "."): value for name, value in conf.items()}
        given = {"master": self.url, "conf": settings, **arguments}
        with output.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.spark_programs", program, json.dumps(given)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=REPOSITORY,
                env=self._environment(),
                start_new_session=True,
            )
        self._programs.append(process)
        return Program(process, output)

    def executors(self) -> list[int]:
        """The processes of the executors."""
        parents = {worker.process.pid for worker in self._workers if worker.is_running}
        return [pid for pid in _children(parents) if _EXECUTOR in _command(pid)]

    def kill_executor(self, chance: random.Random) -> bool:
        """Kill one executor, as a crash would; False if there is none."""
        found = self.executors()
        if not found:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.choice(found), signal.SIGKILL)
        return True

    def _start(self) -> None:
        self._daemon(
            self._master,
            "org.apache.spark.deploy.master.Master",
            *("--host", "127.0.0.1", "--port", str(self._port), "--webui-port", "0"),
        )
        eventually(lambda: "Starting Spark master" in self._log(self._master), timeout=_START_S)
        for number, worker in enumerate(self._workers):
            self._daemon(
                worker,
                "org.apache.spark.deploy.worker.Worker",
                *("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g"),
                *("--work-dir", str(self._directory / f"work-{number}"), self.url),
            )
        eventually(
            lambda: self._log(self._master).count("Registering worker") >= _WORKERS,
            timeout=_START_S,
        )

    def _daemon(self, child: Child, name: str, *arguments: str) -> None:
        command = [str(_spark_home() / "bin" / "spark-class"), name, *arguments]
        child.start(command, env=self._environment())

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "SPARK_HOME": str(_spark_home()),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": f"{REPOSITORY / 'src'}{os.pathsep}{REPOSITORY}",
        }

    def _log(self, child: Child) -> str:
        assert child.is_running, child.output.read_text()[-3000:]
        return child.output.read_text()


class Program:
    """A driver that runs."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self.process = process
        self.output = output

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """The driver's Python and its JVM, at once."""
        kill_program(self.process)

    def wait(self, timeout: float = 150.0) -> str:
        """Its output, once it has ended well."""
        code = self.process.wait(timeout)
        text = self.output.read_text()
        assert code == 0, text[-6000:]
        return text


def kill_program(process: subprocess.Popen[bytes]) -> None:
    # The JVM is in the session of the Python process that started it.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _spark_home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _children(parents: set[int]) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) in parents:
                found.append(int(entry.name))
    return found


def _command(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
