"""Who gets a client that an earlier task has left, and who does not."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from headrace.spark import kept_clients
from headrace.spark.kept_clients import forget, kept_client


@dataclass(eq=False)
class Line:
    """A client that says whether it was closed."""

    is_closed: bool = False

    def close(self) -> None:
        self.is_closed = True


class OtherLine(Line):
    """Another kind of client."""


KAFKA = {"bootstrap.servers": "a:9092"}


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    forget()
    yield
    forget()


def used(kafka: dict[str, str], kind: type[Line] = Line) -> Line:
    with kept_client(kind, kafka, kind) as line:
        assert not line.is_closed
        return line


def test_the_next_task_with_the_same_settings_gets_the_same_client() -> None:
    first = used(KAFKA)
    assert used(dict(KAFKA)) is first
    assert used({"bootstrap.servers": "b:9092"}) is not first
    assert used(KAFKA, OtherLine) is not first


def test_a_client_serves_one_task_at_a_time() -> None:
    with kept_client(Line, KAFKA, Line) as first:
        second = used(KAFKA)
        assert second is not first
    assert second.is_closed
    assert used(KAFKA) is first


def test_a_client_that_saw_an_error_is_closed_and_forgotten() -> None:
    with pytest.raises(ValueError, match="of the task"), kept_client(Line, KAFKA, Line) as first:
        raise ValueError("of the task")
    assert first.is_closed
    assert used(KAFKA) is not first


def test_an_old_client_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    first = used(KAFKA)
    monkeypatch.setattr(kept_clients, "_AGE_S_MAX", -1.0)
    assert used(KAFKA) is not first
    assert first.is_closed
