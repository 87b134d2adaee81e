import pytest

from headrace.base.errors import KafkaError
from headrace.base.settings.definition import REQUIRED, Importance, Setting, by_name, parse_all
from headrace.base.settings.validators import ListOf, at_least
from headrace.base.settings.values import SettingType

COUNT = Setting("count", SettingType.INT, 3, Importance.LOW, "How many.", at_least(1))
NAME = Setting("name", SettingType.STRING, REQUIRED, Importance.HIGH, "Who.")
SECRET = Setting("secret", SettingType.PASSWORD, None, Importance.LOW, "Hush.")
WORDS = Setting("words", SettingType.LIST, (), Importance.LOW, "Which.", ListOf(allow_empty=True))


def test_a_value_is_read_and_then_checked() -> None:
    assert COUNT.parse(" 7 ") == 7
    with pytest.raises(KafkaError, match="Value must be at least 1"):
        COUNT.parse("0")


def test_a_stored_text_is_read_whatever_the_limits_and_counts_for_nothing_if_it_is_no_value() -> (
    None
):
    assert COUNT.stored(" 0 ") == 0
    assert COUNT.stored("many") is None
    assert WORDS.stored("b, a,b") == ("b", "a")


def test_repeated_members_of_a_list_count_once() -> None:
    assert WORDS.parse("b, a,b") == ("b", "a")
    assert WORDS.normalise("b, a,b") == "b,a"


def test_passwords_are_sensitive_and_others_are_not() -> None:
    assert SECRET.sensitive
    assert not NAME.sensitive


def test_a_table_gives_every_setting_its_text_or_its_default() -> None:
    table = by_name([NAME, COUNT, SECRET])
    assert list(table) == ["count", "name", "secret"]
    assert parse_all(table, {"name": "a"}) == {"count": 3, "name": "a", "secret": None}


def test_a_required_setting_that_is_missing_is_named() -> None:
    with pytest.raises(KafkaError) as caught:
        parse_all(by_name([NAME]), {})
    assert caught.value.message == (
        'Missing required configuration "name" which has no default value.'
    )
