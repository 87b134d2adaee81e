"""What a setting's value has to satisfy beyond its type, with Kafka's sentences.

A validator is called with the setting's name and its typed value and raises `KafkaError`; its
text form is the notation of Kafka's documentation (`[1,...]`).
"""

from typing import Protocol

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.values import Value, format_value, invalid_value


class Validator(Protocol):
    def __call__(self, name: str, value: Value) -> None: ...


class Range:
    """A number between two bounds, either of which may be missing."""

    __slots__ = ("high", "low")

    def __init__(self, low: float | None, high: float | None) -> None:
        self.low = low
        self.high = high

    def __call__(self, name: str, value: Value) -> None:
        if not isinstance(value, int | float):
            return
        if self.low is not None and value < self.low:
            raise invalid_value(name, format_value(value), f"Value must be at least {self.low}")
        if self.high is not None and value > self.high:
            reason = f"Value must be no more than {self.high}"
            raise invalid_value(name, format_value(value), reason)

    def __str__(self) -> str:
        if self.high is None:
            return f"[{self.low},...]"
        return f"[...,{self.high}]" if self.low is None else f"[{self.low},...,{self.high}]"


class OneOf:
    """One of some words; Kafka ignores case for a few settings only."""

    __slots__ = ("ignore_case", "words")

    def __init__(self, *words: str, ignore_case: bool = False) -> None:
        self.words = words
        self.ignore_case = ignore_case

    def __call__(self, name: str, value: Value) -> None:
        text = str(value).upper() if self.ignore_case else value
        if value is None or text not in self.words:
            hint = " (case insensitive)" if self.ignore_case else ""
            reason = f"String must be one of{hint}: {', '.join(self.words)}"
            raise invalid_value(name, value, reason)

    def __str__(self) -> str:
        return f"{'(case insensitive) ' if self.ignore_case else ''}[{', '.join(self.words)}]"


class ListOf:
    """A list without empty members; of given words only where there are any."""

    __slots__ = ("allow_empty", "words")

    def __init__(self, *words: str, allow_empty: bool) -> None:
        self.words = words
        self.allow_empty = allow_empty

    def __call__(self, name: str, value: Value) -> None:
        members = value if isinstance(value, tuple) else ()
        if value is not None and not members and not self.allow_empty:
            valid = str(self) if self.words else "any non-empty value"
            hint = f"Valid values include: {valid}"
            raise _refused(f"Configuration '{name}' must not be empty. {hint}")
        for member in members:
            if not member:
                raise _refused(f"Configuration '{name}' values must not be empty.")
            if self.words and member not in self.words:
                words = ", ".join(self.words)
                raise invalid_value(name, member, f"String must be one of: {words}")

    def __str__(self) -> str:
        return f"[{', '.join(self.words)}]" if self.words else ""


class NonEmpty:
    """A string that says something, where it is set at all."""

    __slots__ = ()

    def __call__(self, name: str, value: Value) -> None:
        if value == "":
            raise invalid_value(name, value, "String must be non-empty")

    def __str__(self) -> str:
        return "non-empty string"


class GzipLevel:
    __slots__ = ()

    def __call__(self, name: str, value: Value) -> None:
        if not isinstance(value, int) or not (1 <= value <= 9 or value == -1):
            raise invalid_value(name, value, "Value must be between 1 and 9 or equal to -1")

    def __str__(self) -> str:
        return "[1,...,9] or -1"


class ThrottledReplicas:
    """`*`, or pairs of partition and broker."""

    __slots__ = ()
    FORM = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."

    def __call__(self, name: str, value: Value) -> None:
        members = value if isinstance(value, tuple) else ()
        if members == ("*",) or all(_is_replica(member) for member in members):
            return
        reason = f"{name} must be the literal '*' or a list of replicas in the following format: "
        raise invalid_value(name, f"[{', '.join(members)}]", reason + self.FORM)

    def __str__(self) -> str:
        return self.FORM


def at_least(low: int) -> Range:
    return Range(low, None)


def between(low: float, high: float) -> Range:
    return Range(low, high)


def _is_replica(text: str) -> bool:
    partition, _, broker = text.partition(":")
    return partition.isdecimal() and broker.isdecimal()


def _refused(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, message)
