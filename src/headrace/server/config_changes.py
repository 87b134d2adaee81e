"""What the controller asks before it writes settings: are they sound, and do they fit together?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.broker import BROKER_SETTINGS
from headrace.base.settings.broker_updates import validate_broker_updates
from headrace.base.settings.client_metrics import (
    CLIENT_METRICS_SETTINGS,
    validate_client_metrics_configs,
)
from headrace.base.settings.definition import Setting
from headrace.base.settings.effective import BrokerLayers
from headrace.base.settings.group import GROUP_SETTINGS, validate_group_configs
from headrace.base.settings.topic import TOPIC_SETTINGS
from headrace.base.settings.topic_checks import validate_topic_configs
from headrace.base.settings.typed import flag, integer
from headrace.base.settings.values import SettingType
from headrace.metadata.controller.settings import ConfigCheck, ControllerSettings
from headrace.metadata.image import ConfigResource, MetadataImage
from headrace.server.config import NodeConfig
from headrace.server.served_checks import check_no_java_classes
from headrace.server.settings_in_force import check_settings

_SETTINGS: dict[int, Mapping[str, Setting]] = {
    ConfigResource.TOPIC: TOPIC_SETTINGS,
    ConfigResource.BROKER: BROKER_SETTINGS,
    ConfigResource.CLIENT_METRICS: CLIENT_METRICS_SETTINGS,
    ConfigResource.GROUP: GROUP_SETTINGS,
}
#: Kafka opens and closes listeners while it runs; here they are those of the start.
_FIXED_WHILE_RUNNING = ("listeners", "listener.security.protocol.map")


def is_list_setting(resource_type: int, name: str) -> bool:
    """Whether one can append to a setting and take away from it."""
    setting = _SETTINGS.get(resource_type, {}).get(name)
    return setting is not None and setting.type is SettingType.LIST


def default_setting(resource_type: int, name: str) -> str | None:
    """What appending starts from where nothing is set: the default, not the broker's value."""
    setting = _SETTINGS.get(resource_type, {}).get(name)
    return setting.default_text if setting else None


def config_checks(node: NodeConfig) -> dict[int, ConfigCheck]:
    """The check for each kind of resource, of the settings that one is to have."""
    values, defaults = node.values, node.topic_defaults
    return {
        ConfigResource.TOPIC: lambda _name, configs, _image: validate_topic_configs(
            configs, defaults
        ),
        ConfigResource.BROKER: partial(_check_broker, node),
        ConfigResource.GROUP: lambda _name, configs, _image: validate_group_configs(
            configs, values
        ),
        ConfigResource.CLIENT_METRICS: lambda name, configs, _image: (
            validate_client_metrics_configs(name, configs)
        ),
    }


def controller_settings(node: NodeConfig, cluster_id: str) -> ControllerSettings:
    values = node.values
    return ControllerSettings(
        cluster_id=cluster_id,
        node_id=node.node_id,
        num_partitions=integer(values, "num.partitions"),
        default_replication_factor=integer(values, "default.replication.factor"),
        min_insync_replicas=integer(values, "min.insync.replicas"),
        unclean_leader_election=flag(values, "unclean.leader.election.enable"),
        config_checks=config_checks(node),
        is_list_setting=is_list_setting,
        default_setting=default_setting,
    )


def _check_broker(
    node: NodeConfig, name: str, configs: Mapping[str, str], image: MetadataImage
) -> None:
    """The broker without a name stands for all of them.

    Kafka calls these an invalid request, not an invalid config (KAFKA-13609 says why it stays).
    """
    try:
        validate_broker_updates(configs, per_broker=bool(name))
        known = {key: text for key, text in configs.items() if key in BROKER_SETTINGS}
        check_no_java_classes({key: BROKER_SETTINGS[key].parse(known[key]) for key in known})
        _check_fixed(configs, image.config(ConfigResource.BROKER, name))
        check_settings(node, _layers_with(node, name, configs, image))
    except KafkaError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, error.message) from error


def _check_fixed(configs: Mapping[str, str], before: Mapping[str, str]) -> None:
    for setting in _FIXED_WHILE_RUNNING:
        if setting in configs and configs[setting] != before.get(setting):
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"{setting} cannot be changed while a node of this version runs:"
                " change its properties file, then start it again.",
            )


def _layers_with(
    node: NodeConfig, name: str, configs: Mapping[str, str], image: MetadataImage
) -> BrokerLayers:
    """All that would be set for this node; what is set for another one is no part of it."""
    own = str(node.node_id)
    return node.layers(
        image.config(ConfigResource.BROKER, "") if name else configs,
        configs if name == own else image.config(ConfigResource.BROKER, own),
    )
