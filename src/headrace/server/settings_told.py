"""The settings that hold at a start, as the log tells them: without what may be a secret."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.base.errors import KafkaError
from headrace.base.settings.broker import BROKER_SETTINGS, find_broker_setting
from headrace.base.settings.definition import Setting
from headrace.base.settings.effective import BrokerLayers

#: What Kafka's logs have in the place of a secret.
_HIDDEN = "[hidden]"


def changed_settings(layers: BrokerLayers) -> Iterator[str]:
    """`name=value` of what somebody set."""
    for name, text in sorted(layers.merged().items()):
        setting = find_broker_setting(name)
        if setting is None:
            continue  # a warning has named it already, and its value may be anything
        if setting.sensitive:
            yield f"{name}={_HIDDEN}"
        elif (shown := _as_read(setting, text)) != setting.default_text:
            yield f"{name}={shown}"


def effective_settings(layers: BrokerLayers) -> Iterator[str]:
    """`name = value` of every setting, in Kafka's words: null is one that nobody set."""
    texts = layers.merged()
    for name, setting in sorted(BROKER_SETTINGS.items()):
        shown = _as_read(setting, texts[name]) if name in texts else setting.default_text
        if setting.sensitive and shown is not None:
            shown = _HIDDEN
        yield f"{name} = {'null' if shown is None else shown}"


def _as_read(setting: Setting, text: str) -> str:
    try:
        return setting.normalise(text)
    except KafkaError:
        return text  # for one listener only, and nothing of it is read
