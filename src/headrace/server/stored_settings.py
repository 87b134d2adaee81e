"""Settings in the cluster's metadata that count for nothing, since this node cannot read them.

Our own controller lets none in, but the metadata may have been written by Apache Kafka or by a
newer version. Where they are used they are left out (`Setting.stored`, `BrokerLayers.merged`).
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.base.errors import KafkaError
from headrace.base.settings.broker import find_broker_setting
from headrace.base.settings.client_metrics import CLIENT_METRICS_SETTINGS
from headrace.base.settings.group import GROUP_SETTINGS
from headrace.base.settings.topic import TOPIC_SETTINGS
from headrace.base.settings.values import Value
from headrace.metadata.image import ConfigKey, ConfigResource, MetadataImage

_BELOW_BROKERS = {
    ConfigResource.TOPIC: TOPIC_SETTINGS,
    ConfigResource.GROUP: GROUP_SETTINGS,
    ConfigResource.CLIENT_METRICS: CLIENT_METRICS_SETTINGS,
}


def unreadable_settings(image: MetadataImage, node_id: int) -> list[str]:
    """A sentence for each of them that would concern this node."""
    return [
        f"A setting of {_owner(key)} counts for nothing: {reason}"
        for key, texts in image.configs.items()
        if key[0] != ConfigResource.BROKER or key[1] in ("", str(node_id))
        for name, text in texts.items()
        if (reason := _refusal(key, name, text)) is not None
    ]


def _refusal(key: ConfigKey, name: str, text: str) -> str | None:
    """Why a setting cannot be read, in Kafka's words, which name it and its value."""
    read = _reader(key[0], name)
    try:
        if read is not None:
            read(text)
    except KafkaError as error:
        return error.message
    return None


def _reader(resource_type: int, name: str) -> Callable[[str], Value] | None:
    """What is used to read a setting, None if it is not known and not read at all."""
    if resource_type == ConfigResource.BROKER:
        setting = find_broker_setting(name)
        return None if setting is None else setting.parse
    if resource_type not in _BELOW_BROKERS:
        return None
    setting = _BELOW_BROKERS[ConfigResource(resource_type)].get(name)
    return None if setting is None else setting.read


def _owner(key: ConfigKey) -> str:
    kind, name = ConfigResource(key[0]), key[1]
    if kind is ConfigResource.BROKER:
        return f"broker {name}" if name else "all brokers"
    return f"{kind.name.lower().replace('_', ' ')} {name}"
