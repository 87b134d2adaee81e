"""The base of the records that coordinators keep in their topics: keys and values with versions."""

from __future__ import annotations

from typing import ClassVar

from headrace.protocol.schema import Message


class CoordinatorRecord(Message):
    """A key or a value; `record_type` is what stands in front of the key."""

    record_type: ClassVar[int]

    def __init_subclass__(
        cls, key: int = -1, versions: str = "none", flexible: str = "none"
    ) -> None:
        super().__init_subclass__(versions=versions, flexible=flexible)
        cls.record_type = key
