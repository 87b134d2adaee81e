"""Somebody who creates and deletes topics all the time, and remembers what was promised."""

from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.background import Background
from tests.support.node import Node


class TopicChurn(Background):
    """A thread that makes `churn-N` topics and deletes every other one again."""

    def __init__(self, node: Node) -> None:
        super().__init__("topic churn")
        #: Promised to exist, promised to be gone; what failed may be either.
        self.created: set[str] = set()
        self.deleted: set[str] = set()
        self._node = node

    def _run(self) -> None:
        admin = AdminClient(
            {
                "bootstrap.servers": self._node.bootstrap,
                "log_level": 0,
                "reconnect.backoff.ms": 5,
                "reconnect.backoff.max.ms": 30,
            }
        )
        number = 0
        while not self._stop.is_set():
            name = f"churn-{number}"
            number += 1
            if not _succeeds(admin.create_topics([NewTopic(name, 3, 1)], request_timeout=2), name):
                continue
            self.created.add(name)
            if number % 2:
                # From here on nobody has promised that it exists.
                self.created.discard(name)
                if _succeeds(admin.delete_topics([name], request_timeout=2), name):
                    self.deleted.add(name)

    def check(self) -> None:
        """Every promise holds, and the directories are those of the topics."""
        admin = AdminClient({"bootstrap.servers": self._node.bootstrap, "log_level": 0})
        listed = set(admin.list_topics(timeout=30).topics)
        assert self.created - listed == set()
        assert self.deleted & listed == set()
        assert len(self.created) > 5
        assert len(self.deleted) > 5
        directories = {
            path.name.rpartition("-")[0]
            for path in self._node.directory.glob("churn-*")
            if not path.name.endswith(("-delete", "-stray"))
        }
        assert directories == {name for name in listed if name.startswith("churn-")}


def _succeeds(futures: Mapping[str, Future[Any]], name: str) -> bool:
    try:
        futures[name].result(10)
    except (KafkaException, CancelledError, TimeoutError):
        return False
    return True
