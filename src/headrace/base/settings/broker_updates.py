"""Which changes of broker configs a running cluster takes (KIP-226)."""

from collections.abc import Iterable, Mapping

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.broker import (
    BROKER_SETTINGS,
    find_broker_setting,
    without_listener_prefix,
)
from headrace.base.settings.definition import UpdateMode

# Keys and certificates belong to a listener; Kafka takes them with the listener prefix only.
_ONLY_PER_LISTENER = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
# Limits of a listener that may be the same on every broker.
_PER_LISTENER_CLUSTER_WIDE = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads"}
)


def validate_broker_updates(configs: Mapping[str, str], *, per_broker: bool) -> None:
    """Raise `KafkaError(INVALID_CONFIG)` unless these configs may be set while brokers run.

    `per_broker` is False for the cluster-wide default (the broker resource without a name).
    """
    _refuse("Cannot update these configs dynamically", filter(_is_read_only, configs))
    _refuse(
        "These security configs can be dynamically updated only per-listener"
        " using the listener prefix",
        (name for name in configs if name in _ONLY_PER_LISTENER),
    )
    for name, text in configs.items():
        setting = find_broker_setting(name)
        if setting is not None:
            setting.parse(text)
    if not per_broker:
        _refuse(
            "Cannot update these configs at default cluster level, broker id must be specified",
            filter(_is_per_broker, configs),
        )


def _refuse(reason: str, names: Iterable[str]) -> None:
    listed = list(names)
    if listed:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{reason}: [{', '.join(listed)}]")


def _is_read_only(name: str) -> bool:
    setting = BROKER_SETTINGS.get(name)
    return setting is not None and setting.update_mode is UpdateMode.READ_ONLY


def _is_per_broker(name: str) -> bool:
    base = without_listener_prefix(name)
    if base is not None:
        return base not in _PER_LISTENER_CLUSTER_WIDE
    setting = BROKER_SETTINGS.get(name)
    return setting is not None and setting.update_mode is UpdateMode.PER_BROKER
