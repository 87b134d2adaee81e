"""Entities and settings of `headrace configs`."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from headrace.cli.config_entities import Entity, parse_entities
from headrace.cli.configs import add_arguments, check_action, parse_additions, parse_deletions
from headrace.cli.configs_quotas import quota_line
from headrace.cli.configs_resources import setting_line
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.protocol.messages.describe_client_quotas import EntityData, EntryData, ValueData
from headrace.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsSynonym,
)

TWO_TYPES = ("--entity-type", "users", "--entity-default", "--entity-type", "clients")


def parse(*args: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(args)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--topic", "t"], [Entity("topics", "t")]),
        (["--entity-type", "topics", "--entity-name", "t"], [Entity("topics", "t")]),
        (["--entity-type", "brokers", "--entity-default"], [Entity("brokers", "")]),
        (["--broker-defaults"], [Entity("brokers", "")]),
        (["--entity-type", "topics"], [Entity("topics", None)]),
        (["--user", "u", "--client", "c"], [Entity("clients", "c"), Entity("users", "u")]),
        (
            [*TWO_TYPES, "--entity-name", "c"],
            [Entity("users", ""), Entity("clients", "c")],
        ),
    ],
)
def test_entities(args: list[str], expected: list[Entity]) -> None:
    assert parse_entities(parse(*args)) == expected


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--entity-type", "foo"],
        ["--topic", "t", "--user", "u"],
        ["--topic", "t", "--entity-name", "x"],
        ["--broker", "one"],
        ["--entity-type", "topics", "--entity-type", "topics"],
    ],
)
def test_entities_that_make_no_sense(args: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_entities(parse(*args))


@pytest.mark.parametrize(
    "args",
    [
        ["--topic", "t"],
        ["--topic", "t", "--describe", "--alter"],
        ["--topic", "t", "--alter"],
        ["--topic", "t", "--describe", "--add-config", "a=b"],
        ["--entity-type", "topics", "--alter", "--add-config", "a=b"],
        ["--entity-type", "users", "--alter", "--add-config", "a=b"],
        ["--topic", "t", "--alter", "--add-config", "a=b", "--add-config-file", "f"],
        ["--entity-type", "broker-loggers", "--describe"],
        ["--entity-type", "topics", "--entity-default", "--describe"],
    ],
)
def test_actions_that_make_no_sense(args: list[str]) -> None:
    parsed = parse(*args)
    with pytest.raises(UsageError):
        check_action(parsed, parse_entities(parsed))


def test_additions_may_hold_commas_in_brackets() -> None:
    args = parse("--add-config", "cleanup.policy=[compact,delete],retention.ms = 5,empty=")
    assert parse_additions(args) == {
        "cleanup.policy": "compact,delete",
        "retention.ms": "5",
        "empty": "",
    }
    scram = parse("--add-config", "SCRAM-SHA-256=[iterations=8192,password=pw]")
    assert parse_additions(scram) == {"SCRAM-SHA-256": "iterations=8192,password=pw"}


@pytest.mark.parametrize("text", ["a", "a=b=c", "a=b,c", "b@d=1"])
def test_additions_that_make_no_sense(text: str) -> None:
    with pytest.raises(CommandFailedError):
        parse_additions(parse("--add-config", text))


def test_additions_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "new.properties"
    path.write_text("# comment\nretention.ms=5\nkey : value\n")
    assert parse_additions(parse("--add-config-file", str(path))) == {
        "retention.ms": "5",
        "key": "value",
    }


def test_deletions_are_lists_with_commas() -> None:
    args = parse("--delete-config", "a, b", "--delete-config", "c")
    assert parse_deletions(args) == ["a", "b", "c"]


def test_a_setting_is_printed_with_its_synonyms() -> None:
    row = DescribeConfigsResourceResult(
        name="log.cleaner.threads",
        value="2",
        synonyms=[
            DescribeConfigsSynonym(name="log.cleaner.threads", value="2", source=2),
            DescribeConfigsSynonym(name="log.cleaner.threads", value="1", source=5),
        ],
    )
    assert setting_line(row) == (
        "  log.cleaner.threads=2 sensitive=false"
        " synonyms={DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2,"
        " DEFAULT_CONFIG:log.cleaner.threads=1}"
    )
    secret = DescribeConfigsResourceResult(name="p", value=None, is_sensitive=True)
    assert setting_line(secret) == "  p=null sensitive=true synonyms={}"


def test_quotas_name_users_before_clients() -> None:
    entry = EntryData(
        entity=[
            EntityData(entity_type="client-id", entity_name="c1"),
            EntityData(entity_type="user", entity_name=None),
        ],
        values=[ValueData(key="request_percentage", value=50.0)],
    )
    assert quota_line(entry) == (
        "Quota configs for the default user-principal, client-id 'c1' are request_percentage=50.0"
    )
