"""The settings of brokers: one table, their synonyms, and which may change while running."""

from headrace.base.settings.definition import Setting, UpdateMode, by_name
from headrace.base.settings.tables import (
    groups,
    headrace,
    log,
    network,
    node,
    replication,
    replication_rates,
    sasl,
    security,
    share,
    tiered_storage,
    transactions,
)

BROKER_SETTINGS: dict[str, Setting] = by_name(
    node.SETTINGS,
    network.SETTINGS,
    log.SETTINGS,
    replication.SETTINGS,
    groups.SETTINGS,
    share.SETTINGS,
    transactions.SETTINGS,
    tiered_storage.SETTINGS,
    security.SETTINGS,
    sasl.SETTINGS,
    headrace.SETTINGS,
)

# Set with AlterConfigs only: a name of this table in a file is an unknown one.
DYNAMIC_ONLY_SETTINGS: dict[str, Setting] = by_name(replication_rates.SETTINGS)

# An earlier name wins over a later one.
_ALIKE: tuple[tuple[str, ...], ...] = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_UNITS: dict[str, tuple[str, ...]] = {name: names for names in _ALIKE for name in names}
# The second one has a meaning of its own as well: the pause between two checks.
_SYNONYMS: dict[str, tuple[str, ...]] = _UNITS | {
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
}

# `listener.name.<listener>.` narrows a setting to one listener; these few are narrowed to one
# SASL mechanism of it as well: `listener.name.<listener>.<mechanism>.sasl.jaas.config`.
_LISTENER_PREFIX = "listener.name."
_PER_MECHANISM = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


def without_listener_prefix(name: str) -> str | None:
    """What is left of a per-listener name, or None for other names."""
    if not name.startswith(_LISTENER_PREFIX):
        return None
    _, dot, base = name.removeprefix(_LISTENER_PREFIX).partition(".")
    return base if dot else None


def unit_synonyms(name: str) -> tuple[str, ...]:
    """Names of the same setting in other units, the strongest first."""
    return _UNITS.get(name, (name,))


def broker_synonyms(name: str) -> tuple[str, ...]:
    """All names that may give this setting its value, the strongest first."""
    if name in _SYNONYMS:
        return _SYNONYMS[name]
    base = without_listener_prefix(name)
    if base is None:
        return (name,)
    per_mechanism = next((setting for setting in _PER_MECHANISM if base.endswith(setting)), None)
    return (name, per_mechanism or base)


def find_broker_setting(name: str) -> Setting | None:
    """The definition behind a name, also when it is narrowed to a listener."""
    found = BROKER_SETTINGS.get(name) or DYNAMIC_ONLY_SETTINGS.get(name)
    if found is None and (base := broker_synonyms(name)[-1]) != name:
        found = BROKER_SETTINGS.get(base)
    return found


def is_dynamic(name: str) -> bool:
    """Whether DescribeConfigs shows the name as changeable; narrowed names never are."""
    setting = BROKER_SETTINGS.get(name) or DYNAMIC_ONLY_SETTINGS.get(name)
    return setting is not None and setting.update_mode is not UpdateMode.READ_ONLY
