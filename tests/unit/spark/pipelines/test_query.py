"""A query that is stopped, and one that failed while it was let run out."""

from pathlib import Path

import pytest

from headrace.spark.pipelines.query import Query


class FakeQuery:
    """Spark's handle; it ends by itself after so many looks at its status."""

    def __init__(self, looks: int, *, busy: bool) -> None:
        self._looks = looks
        self._busy = busy
        self.is_stopped = False
        self._jsq = self

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        return self._looks > 0 and not self.is_stopped

    @property
    def status(self) -> dict[str, bool]:
        self._looks -= 1
        return {"isTriggerActive": self._busy}

    def lastProgress(self) -> None:  # noqa: N802 - Spark's name
        return None

    def stop(self) -> None:
        self.is_stopped = True


@pytest.mark.parametrize(
    ("query", "was_stopped"),
    [(FakeQuery(5, busy=False), True), (FakeQuery(3, busy=True), False)],
    ids=["idle", "its last batch failed"],
)
def test_only_a_query_that_ran_until_then_was_stopped(
    tmp_path: Path, query: FakeQuery, was_stopped: bool
) -> None:
    found = Query(query, str(tmp_path / "pause"))
    found.stop(60.0, lambda: False)
    assert query.is_stopped
    assert found.was_stopped is was_stopped
    assert not (tmp_path / "pause").exists()
