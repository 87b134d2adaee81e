"""DescribeConfigs' answers for each kind of resource, as plain entries sorted by name.

`names` limits an answer to some settings; None means all of them.
"""

from collections.abc import Container, Mapping

from headrace.base.settings.broker import BROKER_SETTINGS, find_broker_setting, is_dynamic
from headrace.base.settings.client_metrics import CLIENT_METRICS_SETTINGS
from headrace.base.settings.definition import Setting
from headrace.base.settings.effective import (
    BrokerLayers,
    ConfigEntry,
    ConfigSource,
    Synonym,
    entry,
    wanted,
)
from headrace.base.settings.group import GROUP_SETTINGS, group_synonym
from headrace.base.settings.topic import TOPIC_SETTINGS, TOPIC_SYNONYMS, default_for_topic
from headrace.base.settings.values import Value, format_value

Names = Container[str] | None


def describe_topic(
    configs: Mapping[str, str], layers: BrokerLayers, names: Names = None
) -> list[ConfigEntry]:
    """Every setting of a topic with these configs of its own."""
    broker_values = layers.values()
    entries = []
    for name, setting in TOPIC_SETTINGS.items():
        own = configs.get(name)
        if not wanted(name, names) or (setting.internal and own is None):
            continue
        if own is None:
            value = default_for_topic(name, broker_values.get)
        else:
            value = _as_set(setting, own)
        below = TOPIC_SYNONYMS.get(name, ())
        synonyms = layers.synonyms(below[0].name) if below else ()
        if own is not None:
            synonyms = _on_top(setting, value, ConfigSource.DYNAMIC_TOPIC_CONFIG, synonyms)
        entries.append(entry(name, setting, value, synonyms))
    return entries


def describe_broker(layers: BrokerLayers, names: Names = None) -> list[ConfigEntry]:
    """Every setting of this broker, and whatever else somebody set for it."""
    texts = layers.merged()
    shown = {name for name, setting in BROKER_SETTINGS.items() if not setting.internal}
    entries = []
    for name in sorted(shown | texts.keys()):
        if not wanted(name, names):
            continue
        setting = find_broker_setting(name)
        value = _broker_value(name, setting, texts)
        read_only = not is_dynamic(name)
        entries.append(entry(name, setting, value, layers.synonyms(name), read_only=read_only))
    return entries


def describe_broker_default(layers: BrokerLayers, names: Names = None) -> list[ConfigEntry]:
    """What is set for all brokers, and nothing else (the broker resource without a name)."""
    only_default = BrokerLayers(dynamic_default=layers.dynamic_default)
    entries = []
    for name in sorted(layers.dynamic_default):
        if wanted(name, names):
            setting = find_broker_setting(name)
            value = _broker_value(name, setting, layers.dynamic_default)
            synonyms = tuple(
                synonym
                for synonym in only_default.synonyms(name)
                if synonym.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
            )
            read_only = not is_dynamic(name)
            entries.append(entry(name, setting, value, synonyms, read_only=read_only))
    return entries


def describe_group(
    configs: Mapping[str, str], layers: BrokerLayers, names: Names = None
) -> list[ConfigEntry]:
    """Every setting of a group with these configs of its own."""
    broker_values = layers.values()
    entries = []
    for name, setting in GROUP_SETTINGS.items():
        if not wanted(name, names):
            continue
        own = configs.get(name)
        below = group_synonym(name)
        if below is not None:
            value, synonyms = broker_values[below], layers.synonyms(below)
        else:
            value = setting.default_value
            default = Synonym(name, setting.default_text, ConfigSource.DEFAULT_CONFIG)
            synonyms = (default,)
        if own is not None:
            value = _as_set(setting, own)
            synonyms = _on_top(setting, value, ConfigSource.DYNAMIC_GROUP_CONFIG, synonyms)
        entries.append(entry(name, setting, value, synonyms))
    return entries


def describe_client_metrics(configs: Mapping[str, str], names: Names = None) -> list[ConfigEntry]:
    """Every setting of a client metrics subscription with these configs of its own."""
    entries = []
    for name, setting in CLIENT_METRICS_SETTINGS.items():
        if not wanted(name, names):
            continue
        value = setting.default_value
        synonyms: tuple[Synonym, ...] = ()
        if name in configs:
            value = _as_set(setting, configs[name])
            source = ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG
            synonyms = _on_top(setting, value, source, ())
        entries.append(entry(name, setting, value, synonyms))
    return entries


def _on_top(
    setting: Setting, value: Value, source: ConfigSource, below: tuple[Synonym, ...]
) -> tuple[Synonym, ...]:
    return (Synonym(setting.name, format_value(value), source), *below)


def _broker_value(name: str, setting: Setting | None, texts: Mapping[str, str]) -> Value:
    if setting is None:
        return None
    return _as_set(setting, texts[name]) if name in texts else setting.default_value


def _as_set(setting: Setting, text: str) -> Value:
    """The value, or the text itself where it is none: whoever asks sees what to mend."""
    value = setting.stored(text)
    return text if value is None else value
