"""Setting values as text and as Python values, read and written the way Kafka does.

Clients and files carry text; Kafka trims it, reads numbers by Java's rules and shows numbers in
Java's notation. A value that does not fit its type is refused with Kafka's own sentence.
"""

import math
import re
from enum import IntEnum

from headrace.base.errors import ErrorCode, KafkaError

Value = bool | int | float | str | tuple[str, ...] | None


class SettingType(IntEnum):
    """The numbers are the ones DescribeConfigs carries."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


_BITS = {SettingType.SHORT: 16, SettingType.INT: 32, SettingType.LONG: 64}
_DECIMAL_CHARACTERS = frozenset("0123456789+-.eE")
#: As Java writes them; unlike Python's, they need an exponent.
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
)
_INFINITIES = {"Infinity": float("inf"), "+Infinity": float("inf"), "-Infinity": float("-inf")}
_DIGITS_MAX = 40


def invalid_value(name: str, value: object, reason: str) -> KafkaError:
    """The sentence Kafka says about a value it does not take."""
    message = f"Invalid value {value} for configuration {name}: {reason}"
    return KafkaError(ErrorCode.INVALID_CONFIG, message)


def parse_value(name: str, kind: SettingType, text: str) -> Value:
    """Read `text` as a value of `kind`; the error names the setting."""
    trimmed = text.strip()
    if kind in _BITS:
        return _whole_number(name, kind, trimmed)
    if kind is SettingType.BOOLEAN:
        return _boolean(name, trimmed)
    if kind is SettingType.DOUBLE:
        return _decimal_number(name, trimmed)
    if kind is SettingType.LIST:
        return tuple(part.strip() for part in trimmed.split(",")) if trimmed else ()
    if kind is SettingType.CLASS and not trimmed:
        raise invalid_value(name, text, "Class  could not be found.")
    return trimmed


def format_value(value: Value) -> str | None:
    """The text Kafka shows for a value."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return _java_double(value)
    return str(value)


def _boolean(name: str, text: str) -> bool:
    lowered = text.lower()
    if lowered == "true":
        return True
    if lowered == "false":
        return False
    raise invalid_value(name, text, "Expected value to be either true or false")


def _whole_number(name: str, kind: SettingType, text: str) -> int:
    digits = text[1:] if text.startswith(("+", "-")) else text
    # Looked at first, because int() also takes underscores and inner blanks.
    if digits.isdecimal() and len(digits) <= _DIGITS_MAX:
        number = int(text)
        limit = 1 << (_BITS[kind] - 1)
        if -limit <= number < limit:
            return number
    raise invalid_value(name, text, f"Not a number of type {kind.name}")


def _decimal_number(name: str, text: str) -> float:
    # Java reads NaN as well; no setting has a use for it and every range check would let it pass.
    if text in _INFINITIES:
        return _INFINITIES[text]
    plain = text[:-1] if text.endswith(("f", "F", "d", "D")) else text
    if plain and _DECIMAL_CHARACTERS.issuperset(plain):
        try:
            return float(plain)
        except ValueError:
            pass
    if _HEXADECIMAL.fullmatch(plain):
        try:
            return float.fromhex(plain)
        except OverflowError:
            return -math.inf if plain.startswith("-") else math.inf
    raise invalid_value(name, text, "Not a number of type DOUBLE")


def _java_double(value: float) -> str:
    """Java writes 1.0E7 where Python writes 10000000.0."""
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign = "-" if value < 0 else ""
    mantissa, _, written_exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(written_exponent or 0) + len(whole) - 1
    digits = (whole + fraction).rstrip("0")
    while digits.startswith("0"):
        digits, exponent = digits[1:], exponent - 1
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"
