"""One setting: its name, type, default, what it accepts, and how it may be changed."""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.validators import ListOf, Range, Validator
from headrace.base.settings.values import SettingType, Value, format_value, parse_value


class Importance(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class UpdateMode(Enum):
    """Whether a running broker takes a new value, and for whom (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class _Required:
    __slots__ = ()

    def __repr__(self) -> str:
        return "(required)"


REQUIRED: Final = _Required()


class Setting(NamedTuple):
    """A row of a settings table. `default` is a typed value, None for "not set".

    A tuple, because 400 of them are built whenever a node or a tool starts.
    """

    name: str
    type: SettingType
    default: Value | _Required
    importance: Importance
    documentation: str
    validator: Validator | None = None
    update_mode: UpdateMode = UpdateMode.READ_ONLY
    # Known and settable, but not told by DescribeConfigs unless somebody set it.
    internal: bool = False

    @property
    def sensitive(self) -> bool:
        return self.type is SettingType.PASSWORD

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    @property
    def default_value(self) -> Value:
        return None if isinstance(self.default, _Required) else self.default

    @property
    def default_text(self) -> str | None:
        return format_value(self.default_value)

    def parse(self, text: str) -> Value:
        """The typed value of `text`, or `KafkaError` with Kafka's sentence."""
        value = self.read(text)
        if isinstance(self.validator, Range):
            self.validator(self.name, value)
        return value

    def read(self, text: str) -> Value:
        """The same without the least and the most that a number may be."""
        value = parse_value(self.name, self.type, text)
        if isinstance(self.validator, ListOf) and isinstance(value, tuple):
            # Kafka 4.2 drops repeated members of such lists rather than refusing them.
            value = tuple(dict.fromkeys(value))
        if self.validator is not None and not isinstance(self.validator, Range):
            self.validator(self.name, value)
        return value

    def stored(self, text: str) -> Value:
        """What the cluster's metadata has for it; None, as if it were not set, if that is no value.

        The metadata may be older than a limit, or have been written by a newer version or by
        Apache Kafka, and a node that does not start cannot be told anything better.
        """
        try:
            return self.read(text)
        except KafkaError:
            return None

    def normalise(self, text: str) -> str:
        """The text Kafka shows after having read `text`."""
        return format_value(self.parse(text)) or ""


def by_name(*tables: Iterable[Setting]) -> dict[str, Setting]:
    """Tables joined into one, sorted by name."""
    rows = sorted((row for table in tables for row in table), key=_name_of)
    return {row.name: row for row in rows}


def parse_all(settings: Mapping[str, Setting], texts: Mapping[str, str]) -> dict[str, Value]:
    """Every setting's typed value: the text where there is one, the default where not."""
    values: dict[str, Value] = {}
    for name, setting in settings.items():
        text = texts.get(name)
        if text is not None:
            values[name] = setting.parse(text)
        elif setting.required:
            message = f'Missing required configuration "{name}" which has no default value.'
            raise KafkaError(ErrorCode.INVALID_CONFIG, message)
        else:
            values[name] = setting.default_value
    return values


def _name_of(setting: Setting) -> str:
    return setting.name
