"""Listeners as properties describe them: `listeners`, `advertised.listeners` and their maps."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.broker import BROKER_SETTINGS
from headrace.base.settings.endpoints import PORT_MAX
from headrace.base.settings.tables.columns import INT32_MAX
from headrace.base.settings.typed import Values, integer, members, text

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_LISTENER = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]{1,9})")
_IPV4 = re.compile(r"\d+\.\d+\.\d+\.\d+")


@dataclass(frozen=True, slots=True)
class ListenerConfig:
    """One listener. Without an advertised host clients are told the address they reached."""

    name: str
    host: str | None
    port: int
    security_protocol: str = "PLAINTEXT"
    advertised_host: str | None = None
    advertised_port: int | None = None
    for_controller: bool = False
    #: `listener.name.<name>.max.connections` and its rate, or what holds for the whole node.
    connections_max: int = INT32_MAX
    creation_rate_max: int = INT32_MAX


class _Endpoint(NamedTuple):
    name: str
    host: str | None
    port: int
    security_protocol: str


def is_wildcard(host: str | None) -> bool:
    """Whether a listener of that host is on every interface."""
    return host in (None, "", "0.0.0.0", "::")  # noqa: S104 - recognised, not bound


def listener_configs(values: Values, given: Mapping[str, str]) -> tuple[ListenerConfig, ...]:
    """The listeners that the properties describe, each with its own settings together.

    `given` are the properties as texts: what they say of one listener is in no table.
    """
    protocol_map_is_set = "listener.security.protocol.map" in given
    controllers = controller_listener_names(values)
    protocols = _protocols(values, controllers, is_set=protocol_map_is_set)
    endpoints = _endpoints(members(values, "listeners"), protocols)
    _check_ports(endpoints, members(values, "listeners"))
    advertised = {
        endpoint.name: endpoint
        for endpoint in _endpoints(members(values, "advertised.listeners"), protocols)
    }
    _check_advertised(advertised, [endpoint.name for endpoint in endpoints])
    return tuple(
        with_limits(
            ListenerConfig(
                name=endpoint.name,
                host=endpoint.host,
                port=endpoint.port,
                security_protocol=endpoint.security_protocol,
                advertised_host=told.host if (told := advertised.get(endpoint.name)) else None,
                advertised_port=told.port if told else None,
                for_controller=endpoint.name in controllers,
            ),
            values,
            given,
        )
        for endpoint in endpoints
    )


def with_limits(
    listener: ListenerConfig, values: Values, given: Mapping[str, str]
) -> ListenerConfig:
    """A listener with the limits that hold for it by these settings; some change while we run."""
    return replace(
        listener,
        connections_max=_narrowed(listener.name, "max.connections", given, values),
        creation_rate_max=_narrowed(listener.name, "max.connection.creation.rate", given, values),
    )


def _narrowed(listener: str, name: str, given: Mapping[str, str], values: Values) -> int:
    """A setting of one listener, or the node's."""
    full_name = f"listener.name.{listener.lower()}.{name}"
    if full_name not in given:
        return integer(values, name)
    return integer({name: BROKER_SETTINGS[name].parse(given[full_name])}, name)


def controller_listener_names(values: Values) -> tuple[str, ...]:
    return tuple(name.upper() for name in members(values, "controller.listener.names"))


def inter_broker_listener_name(values: Values, listeners: tuple[ListenerConfig, ...]) -> str:
    """The listener over which brokers talk; it must be one that brokers have."""
    named = text(values, "inter.broker.listener.name")
    name = (named or text(values, "security.inter.broker.protocol")).upper()
    available = [listener.name for listener in listeners if not listener.for_controller]
    if available and name not in available:
        raise _refused(
            "inter.broker.listener.name must be a listener name defined in advertised.listeners."
            f" The valid options based on currently configured listeners are {','.join(available)}"
        )
    return name


def parse_map(name: str, entries_text: str) -> dict[str, str]:
    """`key:value` entries; a key may contain colons itself (an IPv6 address)."""
    entries = {}
    for part in filter(None, (part.strip() for part in entries_text.split(","))):
        key, colon, value = part.rpartition(":")
        if not colon:
            reason = f"'{part}' is not of the form name:value"
            raise _refused(f"Error parsing configuration property '{name}': {reason}")
        entries[key.strip()] = value.strip()
    return entries


def _protocols(values: Values, controllers: tuple[str, ...], *, is_set: bool) -> dict[str, str]:
    name = "listener.security.protocol.map"
    protocols = {
        key.upper(): value.upper() for key, value in parse_map(name, text(values, name)).items()
    }
    for protocol in protocols.values():
        if protocol not in SECURITY_PROTOCOLS:
            raise _refused(f"Invalid security protocol `{protocol}` defined in {name}")
    used = {listener.partition(":")[0].upper() for listener in members(values, "listeners")}
    if not is_set and not used.intersection(SECURITY_PROTOCOLS[1:]):
        # Without a map of its own and without secure listeners, a controller listener is plain.
        protocols |= dict.fromkeys(controllers, "PLAINTEXT")
    return protocols


def _endpoints(listeners: tuple[str, ...], protocols: Mapping[str, str]) -> list[_Endpoint]:
    try:
        endpoints = [_endpoint(listener, protocols) for listener in listeners]
        if len({endpoint.name for endpoint in endpoints}) < len(endpoints):
            raise ValueError(
                f"Each listener must have a different name, listeners: {_listed(listeners)}"
            )
    except ValueError as error:
        message = f"Error creating broker listeners from '{_listed(listeners)}': {error}"
        raise _refused(message) from None
    return endpoints


def _endpoint(listener: str, protocols: Mapping[str, str]) -> _Endpoint:
    match = _LISTENER.fullmatch(listener)
    if match is None or not match[1] or int(match[3]) > PORT_MAX:
        raise ValueError(f"Unable to parse {listener} to a broker endpoint")
    name = match[1].upper()
    if name not in protocols:
        raise ValueError(f"No security protocol defined for listener {name}")
    return _Endpoint(name, match[2] or None, int(match[3]), protocols[name])


def _check_ports(endpoints: list[_Endpoint], listeners: tuple[str, ...]) -> None:
    """One port may serve an IPv4 and an IPv6 address; any other pair would collide."""
    by_port: dict[int, list[str]] = {}
    for endpoint in endpoints:
        if endpoint.port:
            by_port.setdefault(endpoint.port, []).append(_family(endpoint.host))
    for port, families in by_port.items():
        if len(families) > 1 and sorted(families) != ["IPv4", "IPv6"]:
            reason = (
                "Each listener must have a different port unless exactly one listener has an IPv4"
                f" address and the other IPv6 address, listeners: {_listed(listeners)},"
                f" port: {port}"
            )
            message = f"Error creating broker listeners from '{_listed(listeners)}': {reason}"
            raise _refused(message)


def _family(host: str | None) -> str:
    if host is None:
        return "any"
    if ":" in host:
        return "IPv6"
    return "IPv4" if _IPV4.fullmatch(host) else "name"


def _check_advertised(advertised: Mapping[str, _Endpoint], listeners: list[str]) -> None:
    for endpoint in advertised.values():
        if endpoint.host in ("0.0.0.0", "::"):  # noqa: S104 - refused, not bound
            raise _refused(
                f"advertised.listeners cannot use the nonroutable meta-address {endpoint.host}."
                " Use a routable IP address."
            )
    if not advertised.keys() <= set(listeners):
        raise _refused(
            "advertised.listeners listener names must be equal to or a subset of the ones"
            f" defined in listeners. Found {','.join(advertised)}. The valid options based on"
            f" the current configuration are {','.join(listeners)}"
        )


def _listed(listeners: tuple[str, ...]) -> str:
    return f"[{', '.join(listeners)}]"


def _refused(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, message)
