"""Everything the demo needs: processes of its own on free ports, started in order and ended."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from examples.orders.demo.processes import ProcessError, Processes
from examples.orders.search import SearchView
from examples.orders.smtp_server import SmtpServer
from examples.orders.topics import Values, create_topics
from headrace.testing.ports import free_port

PIPELINES = ("checks", "decisions", "sales")
SERVICES = ("service", "email_sender", "search")
#: A few dozen orders a second: one task where Spark would shuffle, and no batch without orders.
SPARK_SETTINGS = (
    "spark.sql.shuffle.partitions=1",
    "spark.sql.streaming.noDataMicroBatches.enabled=false",
)
_SPARK_SECONDS = 180


class Stage:
    """The platform, the services and the pipelines; a step that `stop` cuts short just ends."""

    def __init__(self, directory: Path, stop: threading.Event) -> None:
        self.processes = Processes(directory)
        #: How many mails came about each order.
        self.mails: Counter[str] = Counter()
        self.bootstrap = f"127.0.0.1:{free_port()}"
        self.registry, self.rest, self.service = (
            f"http://127.0.0.1:{free_port()}" for _ in range(3)
        )
        self.search = SearchView(str(directory / "search.db"))
        self._directory = directory
        self._stop = stop
        self._smtp = SmtpServer(0, self._take_mail)

    def start(self, say: Callable[[str], None]) -> None:
        """Raises ProcessError."""
        steps = (
            (self._start_platform, "Headrace, a schema registry and a REST proxy"),
            (self._start_services, "the orders service, the e-mail sender and the search view"),
            (self.start_pipelines, f"Spark with the pipelines {', '.join(PIPELINES)}"),
        )
        for step, what in steps:
            begun = time.monotonic()
            if not self._stop.is_set():
                step()
            if not self._stop.is_set():
                say(f"{time.monotonic() - begun:5.1f} s  {what}")

    def close(self) -> None:
        """End everything, the platform last."""
        self.processes.stop("pipelines", *SERVICES)
        self.processes.stop("platform")
        self._smtp.stop()

    def check(self) -> None:
        """Raise ProcessError if something has ended by itself."""
        self.processes.check()
        for name, status in self.statuses().items():
            if status["state"] == "failed":
                raise ProcessError(f"The pipeline {name} failed: {status['lastError']}")

    def statuses(self) -> dict[str, dict[str, Any]]:
        """What the runner says about its pipelines, in the words of `headrace pipelines status`."""
        found = {}
        for name in PIPELINES:
            file = self._directory / "pipelines" / name / "status.json"
            if file.exists():
                found[name] = json.loads(file.read_text())
        return found

    def _start_platform(self) -> None:
        self.processes.start(
            *("platform", "headrace.cli.main", "up", "--data", str(self._directory / "data")),
            *("--port", _port(self.bootstrap), "--metrics-port", "0"),
            *("--registry-port", _port(self.registry), "--rest-port", _port(self.rest)),
        )
        self.processes.wait_for(f"{self.registry}/subjects", self._stop)
        self.processes.wait_for(f"{self.rest}/", self._stop)

    def _start_services(self) -> None:
        create_topics(self.bootstrap)
        Values(self.registry).register()
        self._smtp.start()
        where = ("--bootstrap-server", self.bootstrap, "--registry", self.registry)
        search_file, journal = (str(self._directory / name) for name in ("search.db", "sent.db"))
        smtp = f"127.0.0.1:{self._smtp.port}"
        arguments = {
            "service": ("--port", _port(self.service), "--search", search_file),
            "email_sender": ("--smtp", smtp, "--journal", journal),
            "search": ("--file", search_file),
        }
        for name in SERVICES:
            self.processes.start(name, f"examples.orders.{name}", *where, *arguments[name])
        self.processes.wait_for(f"{self.service}/orders", self._stop)

    def start_pipelines(self) -> None:
        self.processes.start(
            *("pipelines", "headrace.cli.main", "pipelines", "run"),
            str(Path(__file__).parents[1] / "pipelines.py"),
            *("--bootstrap-server", self.bootstrap, "--registry-url", self.registry),
            *("--state-dir", str(self._directory / "pipelines")),
            *(word for setting in SPARK_SETTINGS for word in ("--conf", setting)),
        )
        deadline = time.monotonic() + _SPARK_SECONDS
        while not self._stop.wait(0.2):
            self.check()
            states = [status["state"] for status in self.statuses().values()]
            if states == ["running"] * len(PIPELINES):
                return
            if time.monotonic() > deadline:
                raise ProcessError(f"The pipelines did not start within {_SPARK_SECONDS} s.")

    def _take_mail(self, mail: EmailMessage) -> None:
        self.mails[str(mail["Message-ID"]).strip("<>").partition("@")[0]] += 1


def _port(address: str) -> str:
    return address.rpartition(":")[2]
