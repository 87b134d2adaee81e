"""Typed access to the values that `parse_all` and `BrokerLayers.values` return.

The tables say which type a setting has; asking for another one is a mistake in our own code.
"""

from collections.abc import Mapping

from headrace.base.checks import InvariantBrokenError
from headrace.base.settings.values import Value

Values = Mapping[str, Value]


def integer(values: Values, name: str) -> int:
    """An INT, SHORT or LONG that is set or has a default."""
    value = values[name]
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise _not_a("whole number", name, value)


def optional_integer(values: Values, name: str) -> int | None:
    return None if values[name] is None else integer(values, name)


def number(values: Values, name: str) -> float:
    """A DOUBLE."""
    value = values[name]
    if isinstance(value, float):
        return value
    raise _not_a("number", name, value)


def flag(values: Values, name: str) -> bool:
    """A BOOLEAN."""
    value = values[name]
    if isinstance(value, bool):
        return value
    raise _not_a("truth value", name, value)


def text(values: Values, name: str) -> str:
    """A STRING, or empty where it is not set."""
    value = values[name]
    if isinstance(value, str) or value is None:
        return value or ""
    raise _not_a("text", name, value)


def members(values: Values, name: str) -> tuple[str, ...]:
    """A LIST, or nothing where it is not set."""
    value = values[name]
    if isinstance(value, tuple) or value is None:
        return value or ()
    raise _not_a("list", name, value)


def _not_a(kind: str, name: str, value: Value) -> InvariantBrokenError:
    return InvariantBrokenError(f"{name} is read as a {kind}, but it is {value!r}")
