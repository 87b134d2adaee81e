"""Regular expressions from clients: refused, looked up in steps, never a reason to wait."""

from collections.abc import Callable

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.regexes import RegexLookup, check_regex
from headrace.groups.consumer.subscriptions import ResolvedRegex
from tests.unit.groups.consumer.world import Topics


def look_up(
    topics: Topics, *regexes: str, may_describe: Callable[[str], bool] = lambda name: True
) -> tuple[dict[str, ResolvedRegex], int]:
    """The result, and the number of steps."""
    lookup = RegexLookup(regexes, topics, may_describe, 17)
    steps = 1
    while (resolved := lookup.step()) is None:
        steps += 1
    return resolved, steps


def topics_named(*names: str) -> Topics:
    topics = Topics()
    for name in names:
        topics.put(name, 1)
    return topics


def test_an_expression_must_match_the_whole_name() -> None:
    topics = topics_named("log", "logs", "my-log", "other")
    resolved, steps = look_up(topics, "log.*", "other")
    assert resolved["log.*"] == ResolvedRegex(frozenset({"log", "logs"}), topics.version, 17)
    assert resolved["other"].topics == {"other"}
    assert steps == 1


def test_topics_that_the_client_may_not_know_stay_hidden() -> None:
    topics = topics_named("log-1", "log-2")
    resolved, _ = look_up(topics, "log.*", may_describe=lambda name: name != "log-2")
    assert resolved["log.*"].topics == {"log-1"}


@pytest.mark.parametrize(
    "regex", ["(", "a**", "(?=x)", r"(a)\1", "((a{0,100}){0,100}){0,100}", "x" * 100_000]
)
def test_what_re2_cannot_do_in_linear_time_and_little_memory_is_refused(regex: str) -> None:
    with pytest.raises(KafkaError) as refusal:
        check_regex(regex)
    assert refusal.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize("regex", ["", "(x+x+)+y", "(a|a)*b", "([a-z]?[0-9]?){0,400}x"])
def test_expressions_that_kill_other_engines_are_looked_up_in_steps(regex: str) -> None:
    """With a backtracking engine this test would never end."""
    check_regex(regex)
    topics = topics_named(*(f"{'ab' * 120}-{number}" for number in range(100)))
    resolved, steps = look_up(topics, regex)
    assert resolved[regex].topics == frozenset()
    if "{0,400}" in regex:
        assert steps > 10, "a costly expression has to stop more often"


def test_many_topics_take_several_steps() -> None:
    topics = topics_named(*(f"topic-{number}" for number in range(5_000)))
    resolved, steps = look_up(topics, "topic-.*")
    assert len(resolved["topic-.*"].topics) == 5_000
    assert steps > 1


def test_an_expression_that_another_coordinator_took_may_match_nothing_here() -> None:
    resolved, _ = look_up(topics_named("a"), "(?=a)", "a")
    assert resolved["(?=a)"].topics == frozenset()
    assert resolved["a"].topics == {"a"}


def test_many_large_expressions_take_several_steps_though_there_are_no_topics() -> None:
    regexes = [
        "[" + "".join(chr(0x4E00 + 3 * n + number) for n in range(5_000)) + "]"
        for number in range(20)
    ]
    _, steps = look_up(topics_named(), *regexes)
    assert steps > 3


def test_expressions_that_cannot_be_used_here_take_time_too() -> None:
    regexes = [f"{'(|)' * 10_000}{number}" for number in range(20)]
    resolved, steps = look_up(topics_named("a"), *regexes)
    assert not any(found.topics for found in resolved.values())
    assert steps > 3
