"""Settings that ask for something this version does not do yet.

Refusing to start is better than a cluster that is less safe than its file says.
"""

from collections.abc import Iterable, Mapping

from headrace.base.settings.broker import BROKER_SETTINGS
from headrace.base.settings.typed import Values, flag, members, text
from headrace.base.settings.values import SettingType, Value, format_value
from headrace.server.config_checks import require
from headrace.server.listener_config import ListenerConfig

#: Settings that name classes, though their type does not say so.
_LISTS_OF_CLASSES = frozenset(
    {"config.providers", "kafka.metrics.reporters", "metric.reporters", "security.providers"}
)


def check_served(values: Values, listeners: Iterable[ListenerConfig]) -> None:
    """Raise for settings that ask for something this version cannot do."""
    roles = set(members(values, "process.roles"))
    require(
        roles == {"broker", "controller"},
        "This version runs broker and controller in one process:"
        " set process.roles=broker,controller.",
    )
    voters = members(values, "controller.quorum.voters")
    require(
        len(voters) <= 1,
        f"This version is a quorum of one, but controller.quorum.voters names {len(voters)}.",
    )
    for listener in listeners:
        require(
            listener.security_protocol == "PLAINTEXT",
            f"Listener {listener.name} uses {listener.security_protocol}, which this version"
            " does not serve yet; use PLAINTEXT.",
        )
    require(
        not text(values, "authorizer.class.name"),
        "This version does not check who may do what yet; remove authorizer.class.name.",
    )
    require(
        not flag(values, "remote.log.storage.system.enable"),
        "This version has no tiered storage yet; remove remote.log.storage.system.enable.",
    )
    check_no_java_classes(values)


def check_no_java_classes(values: Mapping[str, Value]) -> None:
    """Kafka's own classes stand for what is built in; any other would have to be loaded."""
    for name, value in values.items():
        setting = BROKER_SETTINGS[name]
        if setting.type is SettingType.CLASS or (name in _LISTS_OF_CLASSES and value):
            require(
                value == setting.default_value,
                f"Invalid value {format_value(value)} for configuration {name}:"
                " Java classes cannot be loaded here.",
            )
