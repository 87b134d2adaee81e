"""The settings that hold for this node: its file, and above it what the metadata sets for brokers.

Whatever a start makes of them is made on trial as well: before settings are written, and before
those are believed that the metadata has already.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.effective import BrokerLayers
from headrace.base.settings.topic import topic_defaults
from headrace.base.settings.typed import Values
from headrace.log.config import LogConfig
from headrace.metadata.image import ConfigResource, MetadataImage
from headrace.server import part_configs
from headrace.server.config import NodeConfig
from headrace.server.config_checks import check_rules
from headrace.server.listener_config import with_limits
from headrace.server.transaction_coordination import admission_config, transaction_config

logger = logging.getLogger(__name__)


class SettingsInForce:
    """All that is set for this node; its file alone if the rest makes no sense with it.

    The controller lets no such settings in, but the metadata may be older than the file, or have
    been written by somebody else; and a node that does not start cannot be told better ones.

    Many ask, some of them at every heartbeat of a group: the settings are looked at, and
    complained about, once for each change.
    """

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self._seen = self._layers = config.layers()
        self._values = config.values

    def layers(self, image: MetadataImage) -> BrokerLayers:
        """Where each setting comes from."""
        self._look_at(image)
        return self._layers

    def values(self, image: MetadataImage) -> Values:
        """The typed value of every broker setting."""
        self._look_at(image)
        return self._values

    def _look_at(self, image: MetadataImage) -> None:
        config = self._config
        layers = config.layers(
            image.config(ConfigResource.BROKER, ""),
            image.config(ConfigResource.BROKER, str(config.node_id)),
        )
        if layers == self._seen:  # quick: an image takes what did not change from the one before
            return
        self._seen = layers
        try:
            self._values = check_settings(config, layers)
            self._layers = layers
        except KafkaError as error:
            logger.error("the dynamic settings of this broker are not applied: %s", error.message)
            self._layers, self._values = config.layers(), config.values


def check_settings(config: NodeConfig, layers: BrokerLayers) -> Values:
    """The values of settings with which this node can run; for others a `KafkaError` says why."""
    try:
        values = layers.values()
        check_rules(values, config.listeners)
        _make_parts(config, values, layers.merged())
    except KafkaError:
        raise
    except Exception as error:  # the edge of the trial: no rule knows what a part stumbles over
        reason = f"A node cannot run with these settings: {type(error).__name__}: {error}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, reason) from error
    return values


def _make_parts(config: NodeConfig, values: Values, given: Mapping[str, str]) -> None:
    """All that a start, or a change while the node runs, makes of settings that may be dynamic."""
    part_configs.maintenance_config(values)
    part_configs.log_manager_config(values)
    part_configs.connection_limits(values)
    admission_config(values)
    transaction_config(values)
    config.cordoned(values)
    LogConfig.from_settings(topic_defaults(values))
    for listener in config.listeners:
        with_limits(listener, values, given)
