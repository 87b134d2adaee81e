import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.values import SettingType, format_value, parse_value


def parsed(kind: SettingType, text: str) -> object:
    return parse_value("a.setting", kind, text)


def refusal(kind: SettingType, text: str) -> str:
    with pytest.raises(KafkaError) as caught:
        parse_value("a.setting", kind, text)
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    return caught.value.message


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (SettingType.INT, " 42 ", 42),
        (SettingType.INT, "+7", 7),
        (SettingType.INT, "-2147483648", -(2**31)),
        (SettingType.LONG, "9223372036854775807", 2**63 - 1),
        (SettingType.SHORT, "32767", 32767),
        (SettingType.BOOLEAN, " TRUE", True),
        (SettingType.BOOLEAN, "false", False),
        (SettingType.DOUBLE, "1e-1", 0.1),
        (SettingType.DOUBLE, ".5", 0.5),
        (SettingType.DOUBLE, "0.5f", 0.5),
        (SettingType.DOUBLE, "0.5d", 0.5),
        (SettingType.DOUBLE, "0x1p-1", 0.5),
        (SettingType.DOUBLE, "-0X.8P+1f", -1.0),
        (SettingType.DOUBLE, "0x1.8p0D", 1.5),
        (SettingType.DOUBLE, "0x1p5000", float("inf")),
        (SettingType.DOUBLE, "-0x1p5000", float("-inf")),
        (SettingType.DOUBLE, "-Infinity", float("-inf")),
        (SettingType.STRING, "  rack 1 ", "rack 1"),
        (SettingType.LIST, "compact , delete", ("compact", "delete")),
        (SettingType.LIST, "  ", ()),
        (SettingType.LIST, "a,", ("a", "")),
        (SettingType.PASSWORD, " secret ", "secret"),
        (SettingType.CLASS, "org.example.Policy", "org.example.Policy"),
    ],
)
def test_text_is_trimmed_and_read_by_its_type(kind: SettingType, text: str, value: object) -> None:
    assert parsed(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (SettingType.INT, "2147483648"),
        (SettingType.INT, "1_000"),
        (SettingType.INT, "1.5"),
        (SettingType.INT, ""),
        (SettingType.INT, "+-5"),
        (SettingType.INT, "- 5"),
        (SettingType.SHORT, "40000"),
        (SettingType.LONG, "99999999999999999999"),
        (SettingType.LONG, "9" * 100_000),
        (SettingType.DOUBLE, "NaN"),
        (SettingType.DOUBLE, "inf"),
        (SettingType.DOUBLE, "1_0"),
        (SettingType.DOUBLE, "1.2.3"),
        (SettingType.DOUBLE, "f"),
        (SettingType.DOUBLE, "0x1"),
        (SettingType.DOUBLE, "0x1.8"),
        (SettingType.DOUBLE, "0x.p1"),
        (SettingType.DOUBLE, "0x1pf"),
    ],
)
def test_a_text_that_is_no_such_number_is_refused_as_kafka_does(
    kind: SettingType, text: str
) -> None:
    expected = f"Invalid value {text} for configuration a.setting: Not a number of type {kind.name}"
    assert refusal(kind, text) == expected


def test_a_boolean_is_true_or_false_and_nothing_else() -> None:
    assert refusal(SettingType.BOOLEAN, "yes") == (
        "Invalid value yes for configuration a.setting: Expected value to be either true or false"
    )


def test_a_class_needs_a_name() -> None:
    assert refusal(SettingType.CLASS, "").endswith("Class  could not be found.")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (-1, "-1"),
        (("a", "b"), "a,b"),
        ((), ""),
        (0.5, "0.5"),
        (100.0, "100.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (1e7, "1.0E7"),
        (12345678.0, "1.2345678E7"),
        (-2.5e10, "-2.5E10"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("inf"), "Infinity"),
    ],
)
def test_values_are_shown_as_java_shows_them(value: object, text: str | None) -> None:
    assert format_value(value) == text  # type: ignore[arg-type]


@given(st.floats(allow_nan=False))
def test_a_shown_number_is_read_back_as_the_same_number(value: float) -> None:
    assert parsed(SettingType.DOUBLE, format_value(value) or "") == value


@given(st.text(max_size=50), st.sampled_from(list(SettingType)))
def test_any_text_is_either_read_or_refused(text: str, kind: SettingType) -> None:
    with contextlib.suppress(KafkaError):
        parsed(kind, text)
