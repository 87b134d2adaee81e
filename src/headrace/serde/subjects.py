"""Under which subject a schema is registered: Confluent's three strategies and their names."""

from __future__ import annotations

from collections.abc import Callable

from headrace.serde.errors import SerdeError

#: (topic, is_key, full name of the record) -> subject
SubjectNameStrategy = Callable[[str, bool, str | None], str]


def topic_name(topic: str, is_key: bool, _record_name: str | None = None) -> str:
    return f"{topic}-key" if is_key else f"{topic}-value"


def record_name(_topic: str, is_key: bool, record: str | None) -> str:
    return _required(record, is_key)


def topic_record_name(topic: str, is_key: bool, record: str | None) -> str:
    return f"{topic}-{_required(record, is_key)}"


_STRATEGIES: dict[str, SubjectNameStrategy] = {
    "TopicNameStrategy": topic_name,
    "RecordNameStrategy": record_name,
    "TopicRecordNameStrategy": topic_record_name,
    "TOPIC_NAME": topic_name,
    "RECORD_NAME": record_name,
    "TOPIC_RECORD_NAME": topic_record_name,
    "TOPIC": topic_name,
    "RECORD": record_name,
    "TOPIC_RECORD": topic_record_name,
}


def find_strategy(name: str) -> SubjectNameStrategy:
    """The strategy that Confluent's class or short name stands for."""
    strategy = _STRATEGIES.get(name.rpartition(".")[2])
    if strategy is None:
        raise SerdeError(
            f"The subject name strategy {name} is unknown; there are TopicNameStrategy,"
            " RecordNameStrategy and TopicRecordNameStrategy."
        )
    return strategy


def needs_record_name(strategy: SubjectNameStrategy) -> bool:
    """Whether the subject can only be told from a schema."""
    return strategy is not topic_name


def _required(record: str | None, is_key: bool) -> str:
    if not record:
        part = "key" if is_key else "value"
        raise SerdeError(
            f"The schema of the {part} has no name, so a strategy by record name cannot be used."
        )
    return record
