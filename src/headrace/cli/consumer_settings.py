"""The settings of Kafka's consumer, as our tools that read records understand them.

Every value is checked before anything is read: a level that is misspelt must not quietly become
the one that shows aborted records.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from headrace.cli.durations import parse_duration
from headrace.cli.failure import CommandFailedError
from headrace.client.config import ClientConfigError, normalise, whole_number
from headrace.client.fetch_request import FetchConfig
from headrace.client.offsets import EARLIEST, LATEST
from headrace.client.resetting import ByDuration, ResetPolicy

_RESETS: dict[str, ResetPolicy] = {"earliest": EARLIEST, "latest": LATEST, "none": None}
_BY_DURATION = "by_duration:"
_CHOICES = {
    "isolation.level": ("read_committed", "read_uncommitted"),
    "enable.auto.commit": ("true", "false"),
}
#: Whole numbers, with the least that makes sense.
_NUMBERS = {
    "fetch.max.wait.ms": 0,
    "fetch.min.bytes": 0,
    "fetch.max.bytes": 0,
    "max.partition.fetch.bytes": 0,
    "max.poll.records": 1,
    "auto.commit.interval.ms": 0,
}


def checked_settings(given: Mapping[str, str]) -> dict[str, str]:
    """The settings under Java's names; the first value that cannot be meant is refused."""
    settings = {normalise(name): text for name, text in given.items()}
    for name, known in _CHOICES.items():
        if name in settings and _word(settings[name]) not in known:
            raise _invalid(name, settings[name], f"it is {' or '.join(known)}")
    for name, least in _NUMBERS.items():
        if name in settings:
            try:
                whole_number(name, settings[name], least)
            except ClientConfigError as error:
                raise CommandFailedError(str(error)) from error
    return settings


def reads_committed(settings: Mapping[str, str]) -> bool:
    return _word(settings.get("isolation.level", "read_uncommitted")) == "read_committed"


def commits_itself(settings: Mapping[str, str]) -> bool:
    return _word(settings.get("enable.auto.commit", "true")) == "true"


def parse_reset(name: str, text: str) -> ResetPolicy:
    """`earliest`, `latest`, `none` or `by_duration:PnDTnHnMnS`, of the setting or option `name`."""
    if text in _RESETS:
        return _RESETS[text]
    if text.startswith(_BY_DURATION):
        with suppress(CommandFailedError):
            milliseconds = parse_duration(text.removeprefix(_BY_DURATION))
            if milliseconds >= 0:
                return ByDuration(milliseconds)
    raise _invalid(name, text, "it is earliest, latest, none or by_duration:PnDTnHnMnS")


def fetch_config(settings: Mapping[str, str], reset_to: ResetPolicy) -> FetchConfig:
    """How to fetch; the settings have been checked."""
    default = FetchConfig()
    return FetchConfig(
        max_wait_ms=int(settings.get("fetch.max.wait.ms", default.max_wait_ms)),
        min_bytes=int(settings.get("fetch.min.bytes", default.min_bytes)),
        max_bytes=int(settings.get("fetch.max.bytes", default.max_bytes)),
        partition_max_bytes=int(
            settings.get("max.partition.fetch.bytes", default.partition_max_bytes)
        ),
        read_committed=reads_committed(settings),
        reset_to=reset_to,
    )


def _word(text: str) -> str:
    return text.strip().lower()


def _invalid(name: str, text: str, valid: str) -> CommandFailedError:
    return CommandFailedError(f"Invalid value {text} for configuration {name}: {valid}.")
