"""Where the registry is, and under which subject schemas are."""

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.serde.errors import SerdeError
from headrace.spark.registry.settings import registry_settings, subject_of


def session(**conf: str) -> Any:
    return SimpleNamespace(conf=SimpleNamespace(getAll=conf))


def test_the_session_says_where_the_registry_is_and_arguments_go_before_it() -> None:
    spark = session(
        **{
            "spark.headrace.schema.registry.url": "http://a",
            "spark.headrace.schema.registry.basic.auth.user.info": "u:p",
            "spark.app.name": "x",
        }
    )
    assert registry_settings(spark) == (
        ("schema.registry.basic.auth.user.info", "u:p"),
        ("schema.registry.url", "http://a"),
    )
    changed = registry_settings(spark, "http://b", {"basic.auth.user.info": "v:q"})
    assert dict(changed) == {
        "schema.registry.basic.auth.user.info": "v:q",
        "schema.registry.url": "http://b",
    }


def test_without_an_address_there_is_one_sentence() -> None:
    with pytest.raises(SerdeError, match="There is no schema registry: give url="):
        registry_settings(session())


def test_a_subject_is_named_or_follows_from_the_topic() -> None:
    assert subject_of("orders", None, False) == "orders-value"
    assert subject_of("orders", None, True) == "orders-key"
    assert subject_of(None, "mine", True) == "mine"
    for topic, subject in ((None, None), ("a", "b")):
        with pytest.raises(SerdeError, match="one of them"):
            subject_of(topic, subject, False)
