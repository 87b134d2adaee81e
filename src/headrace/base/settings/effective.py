"""The value a setting has in the end, and where it comes from, as DescribeConfigs tells it.

A broker's value comes from the first layer that has one: set for this broker, set for all
brokers, the properties file, the default. A topic's or group's own value comes before them.
"""

from collections.abc import Container, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from headrace.base.errors import KafkaError
from headrace.base.settings.broker import (
    BROKER_SETTINGS,
    broker_synonyms,
    find_broker_setting,
    unit_synonyms,
)
from headrace.base.settings.definition import Setting
from headrace.base.settings.values import SettingType, Value, format_value


class ConfigSource(IntEnum):
    """The numbers are the ones DescribeConfigs carries."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class Synonym(NamedTuple):
    """One layer's value for a setting; None where it is a secret."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One line of a DescribeConfigs answer."""

    name: str
    value: str | None
    source: ConfigSource
    type: SettingType
    read_only: bool
    sensitive: bool
    synonyms: tuple[Synonym, ...]
    documentation: str


_NOTHING: Mapping[str, str] = {}


class BrokerLayers(NamedTuple):
    """What is set for a broker and where: texts by name, the defaults not included."""

    static: Mapping[str, str] = _NOTHING
    dynamic_default: Mapping[str, str] = _NOTHING
    dynamic: Mapping[str, str] = _NOTHING

    def merged(self) -> dict[str, str]:
        """Names and texts that hold in the end.

        A dynamic value replaces all synonyms below it: `log.retention.ms` for all brokers counts
        more than `log.retention.hours` in the file. One that does not parse counts for nothing:
        it may have been written by a newer version.
        """
        texts = dict(self.static)
        for layer in (self.dynamic_default, self.dynamic):
            for name, text in layer.items():
                if _parses(name, text):
                    for synonym in unit_synonyms(name):
                        texts.pop(synonym, None)
                    texts[name] = text
        return texts

    def values(self) -> dict[str, Value]:
        """Every broker setting's typed value."""
        texts = self.merged()
        return {
            name: setting.parse(texts[name]) if name in texts else setting.default_value
            for name, setting in BROKER_SETTINGS.items()
        }

    def synonyms(self, name: str) -> tuple[Synonym, ...]:
        """All layers that give `name` a value, the one that counts first."""
        names = broker_synonyms(name)
        setting = find_broker_setting(name)
        secret = setting is None or setting.sensitive
        found = [
            Synonym(synonym, None if secret else text, source)
            for synonym, text, source in self._layers(names)
        ]
        # Kafka tells a setting by its own name first, or does not list synonyms at all.
        first = next((index for index, entry in enumerate(found) if entry.name == name), None)
        return () if first is None else tuple(found[first:])

    def _layers(self, names: tuple[str, ...]) -> Iterator[tuple[str, str, ConfigSource]]:
        for layer, source in (
            (self.dynamic, ConfigSource.DYNAMIC_BROKER_CONFIG),
            (self.dynamic_default, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            (self.static, ConfigSource.STATIC_BROKER_CONFIG),
        ):
            for name in names:
                if name in layer:
                    yield name, layer[name], source
        for name in names:
            setting = BROKER_SETTINGS.get(name)
            text = setting.default_text if setting else None
            if text is not None:
                yield name, text, ConfigSource.DEFAULT_CONFIG


def wanted(name: str, names: Container[str] | None) -> bool:
    """Whether a request asked for `name`; None asks for everything."""
    return names is None or name in names


def entry(
    name: str,
    setting: Setting | None,
    value: Value,
    synonyms: tuple[Synonym, ...],
    *,
    read_only: bool = False,
) -> ConfigEntry:
    """A line of the answer; what is not known may be a secret, so its value is kept back."""
    sensitive = setting is None or setting.sensitive
    return ConfigEntry(
        name=name,
        value=None if sensitive else format_value(value),
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        type=setting.type if setting else SettingType.UNKNOWN,
        read_only=read_only,
        sensitive=sensitive,
        synonyms=synonyms,
        documentation=setting.documentation if setting else "",
    )


def _parses(name: str, text: str) -> bool:
    setting = find_broker_setting(name)
    if setting is None:
        return True
    try:
        setting.parse(text)
    except KafkaError:
        return False
    return True
