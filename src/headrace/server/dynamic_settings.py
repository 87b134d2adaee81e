"""Broker settings that somebody changes while the node runs, and the parts on which they act.

A change is told by the metadata, which keeps it for the next start as well. The defaults of topics,
and what transactions and groups need, is looked after where they are.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from headrace.base.errors import KafkaError
from headrace.log.directories import DataDirectory
from headrace.log.log_manager import LogManager
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.controller import brokers
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.features import METADATA_VERSION
from headrace.metadata.image import ConfigResource, MetadataImage
from headrace.server import part_configs
from headrace.server.config import NodeConfig
from headrace.server.connection_limits import ConnectionCounts, ListenerCounts
from headrace.server.listener_config import ListenerConfig, with_limits
from headrace.server.maintenance import Maintenance
from headrace.server.metadata_plane import MetadataPlane
from headrace.server.settings_in_force import SettingsInForce
from headrace.server.transaction_coordination import BrokerIdentity

logger = logging.getLogger(__name__)


def cordoned_ids(
    directories: Iterable[DataDirectory], cordoned: Container[str]
) -> tuple[bytes, ...]:
    """By what the metadata knows the cordoned ones of these directories."""
    found = (one.directory_id for one in directories if one.path in cordoned)
    return tuple(directory_id for directory_id in found if directory_id is not None)


@dataclass(frozen=True, slots=True)
class DynamicSettings:
    """Brings a change to the running parts."""

    config: NodeConfig
    settings: SettingsInForce
    broker: BrokerIdentity
    plane: MetadataPlane
    logs: LogManager
    maintenance: Maintenance
    counts: Sequence[ConnectionCounts]
    listener_counts: Mapping[ListenerConfig, ListenerCounts]

    def metadata_changed(self, changes: MetadataChanges, image: MetadataImage) -> None:
        """The listener itself."""
        try:
            if any(kind == ConfigResource.BROKER for kind, _ in changes.configs):
                self._apply(image)
            elif METADATA_VERSION in changes.features:
                self._register_cordoned()  # a newer version has room for them
        except Exception:  # the edge of a listener: no setting may cost the node its metadata
            logger.exception("the changed settings of this broker could not be applied")

    def limit_connections(self, image: MetadataImage) -> None:
        """At the start as well: a listener's own limits may be dynamic ones."""
        values, given = self.settings.values(image), self.settings.layers(image).merged()
        for counted in self.counts:
            counted.change(part_configs.connection_limits(values))
        for listener, counts in self.listener_counts.items():
            now = with_limits(listener, values, given)
            counts.change(now.connections_max, now.creation_rate_max)

    def _apply(self, image: MetadataImage) -> None:
        values = self.settings.values(image)
        self.maintenance.reconfigure(part_configs.maintenance_config(values))
        self.logs.config = part_configs.log_manager_config(values)
        for log in self.logs.logs.values():
            log.producer_expiration_ms = self.logs.config.producer_expiration_ms
        self.logs.cordoned = self.config.cordoned(values)
        self._register_cordoned()
        self.limit_connections(image)

    def _register_cordoned(self) -> None:
        """Tell the controller, which gives a broker without an open directory no new partitions."""
        cordoned = cordoned_ids(self.logs.directories, self.logs.cordoned)

        def command(image: MetadataImage) -> ControllerResult[None]:
            broker = brokers.registered(image, self.broker.node_id, self.broker.broker_epoch)
            return ControllerResult(None, brokers.cordon(image, broker, cordoned))

        def done(reply: KafkaError | None) -> None:
            if reply is not None:
                logger.error("cordoned.log.dirs could not be registered: %s", reply)

        self.plane.submit(command, done)
