import pytest

from headrace.base.errors import KafkaError
from headrace.base.settings.validators import (
    GzipLevel,
    ListOf,
    NonEmpty,
    OneOf,
    ThrottledReplicas,
    Validator,
    at_least,
    between,
)
from headrace.base.settings.values import Value

COMPACT_DELETE = ListOf("compact", "delete", allow_empty=True)


@pytest.mark.parametrize(
    ("validator", "value"),
    [
        (at_least(1), 1),
        (between(0, 1), 0.5),
        (between(0, 1), 1.0),
        (OneOf("a", "b"), "b"),
        (OneOf("UPGRADE", ignore_case=True), "Upgrade"),
        (COMPACT_DELETE, ("delete", "compact")),
        (COMPACT_DELETE, ()),
        (ListOf(allow_empty=False), ("anything",)),
        (ListOf(allow_empty=False), None),
        (NonEmpty(), None),
        (GzipLevel(), -1),
        (GzipLevel(), 9),
        (ThrottledReplicas(), ("*",)),
        (ThrottledReplicas(), ("0:1", "12:3")),
        (ThrottledReplicas(), ()),
    ],
)
def test_a_value_within_the_rules_passes(validator: Validator, value: Value) -> None:
    validator("x", value)


@pytest.mark.parametrize(
    ("validator", "value", "message"),
    [
        (
            at_least(1048576),
            5,
            "Invalid value 5 for configuration x: Value must be at least 1048576",
        ),
        (between(0, 1), 1.5, "Invalid value 1.5 for configuration x: Value must be no more than 1"),
        (between(0, 1), -0.1, "Invalid value -0.1 for configuration x: Value must be at least 0"),
        (OneOf("a", "b"), "A", "Invalid value A for configuration x: String must be one of: a, b"),
        (
            OneOf("A", "B", ignore_case=True),
            "c",
            "Invalid value c for configuration x: String must be one of (case insensitive): A, B",
        ),
        (
            COMPACT_DELETE,
            ("delete", "foo"),
            "Invalid value foo for configuration x: String must be one of: compact, delete",
        ),
        (COMPACT_DELETE, ("delete", ""), "Configuration 'x' values must not be empty."),
        (
            ListOf("a", "b", allow_empty=False),
            (),
            "Configuration 'x' must not be empty. Valid values include: [a, b]",
        ),
        (
            ListOf(allow_empty=False),
            (),
            "Configuration 'x' must not be empty. Valid values include: any non-empty value",
        ),
        (NonEmpty(), "", "Invalid value  for configuration x: String must be non-empty"),
        (
            GzipLevel(),
            0,
            "Invalid value 0 for configuration x: Value must be between 1 and 9 or equal to -1",
        ),
        (
            ThrottledReplicas(),
            ("0:1", "1:"),
            (
                "Invalid value [0:1, 1:] for configuration x: x must be the literal '*' or a list"
                " of replicas in the following format:"
                " [partitionId]:[brokerId],[partitionId]:[brokerId],..."
            ),
        ),
    ],
)
def test_a_value_outside_the_rules_is_refused_with_kafkas_sentence(
    validator: Validator, value: Value, message: str
) -> None:
    with pytest.raises(KafkaError) as caught:
        validator("x", value)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("validator", "text"),
    [
        (at_least(0), "[0,...]"),
        (between(1, 17), "[1,...,17]"),
        (COMPACT_DELETE, "[compact, delete]"),
        (OneOf("A", ignore_case=True), "(case insensitive) [A]"),
        (GzipLevel(), "[1,...,9] or -1"),
    ],
)
def test_a_validator_shows_itself_in_the_notation_of_kafkas_documentation(
    validator: Validator, text: str
) -> None:
    assert str(validator) == text
