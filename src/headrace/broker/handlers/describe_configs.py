"""DescribeConfigs: every setting of topics, brokers, groups and the rest, and where it is from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.describe import (
    describe_broker,
    describe_broker_default,
    describe_client_metrics,
    describe_group,
    describe_topic,
)
from headrace.base.settings.effective import BrokerLayers, ConfigEntry, ConfigSource
from headrace.base.settings.values import SettingType
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import RequestContext
from headrace.metadata.controller.topic_names import check_topic_name
from headrace.metadata.image import ConfigResource, MetadataImage
from headrace.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

#: Who guards a kind of resource, and what a caller hears who may not see its settings.
_GUARDS = {
    ConfigResource.TOPIC: (ResourceType.TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ConfigResource.GROUP: (ResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
}
_CLUSTER_GUARD = (ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
_KINDS = frozenset(ConfigResource) - {ConfigResource.UNKNOWN}
#: The most settings in one answer, those of some 29,000 topics. A request may name any number of
#: groups, whether they exist or not, and a line of it would cost us a page.
_ENTRIES_MAX = 1_000_000
_BROKER_ID = re.compile(r"[+-]?[0-9]{1,10}")


class DescribeConfigsHandler:
    """Serves API key 32."""

    def __init__(
        self,
        cluster: ClusterView,
        properties: Mapping[str, str],
        loggers: Callable[[], Mapping[str, str]],
    ) -> None:
        self._cluster = cluster
        #: What this node was started with.
        self._properties = properties
        #: The loggers of this process and their levels.
        self._loggers = loggers

    def __call__(
        self, context: RequestContext, request: DescribeConfigsRequest
    ) -> DescribeConfigsResponse:
        for resource in request.resources:
            if resource.resource_type not in _KINDS:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST,
                    f"Resources of type {resource.resource_type} have no settings.",
                )
        image = self._cluster.image
        described: dict[object, list[DescribeConfigsResourceResult]] = {}
        results = []
        room = _ENTRIES_MAX
        for resource in request.resources:
            result = DescribeConfigsResult(
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                error_message=None,
            )
            results.append(result)
            try:
                _check_access(context, resource)
                # Thousands of topics, asked for at once, have a handful of different settings.
                alike = _alike(resource, image)
                configs = described.get(alike)
                if configs is None:
                    entries = self._describe(resource, image)
                    configs = described[alike] = [_result(entry, request) for entry in entries]
                room -= len(configs)
                if room < 0:
                    raise KafkaError(
                        ErrorCode.INVALID_REQUEST,
                        "Too many resources for one answer; ask for fewer.",
                    )
                result.configs = configs
            except KafkaError as error:
                result.error_code = int(error.code)
                result.error_message = error.message or None
        return DescribeConfigsResponse(results=results)

    def _describe(
        self, resource: DescribeConfigsResource, image: MetadataImage
    ) -> list[ConfigEntry]:
        # An empty list asks for everything, just as none does.
        names = frozenset(resource.configuration_keys or ()) or None
        kind, name = ConfigResource(resource.resource_type), resource.resource_name
        configs = image.config(kind, name)
        if kind is ConfigResource.TOPIC:
            check_topic_name(name)
            if name not in image.topics_by_name:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return describe_topic(configs, self._layers(image), names)
        if kind is ConfigResource.BROKER and not name:
            return describe_broker_default(self._layers(image), names)
        if not name:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"A resource of type {kind.name} needs a name.",
            )
        if kind is ConfigResource.GROUP:
            return describe_group(configs, self._layers(image), names)
        if kind is ConfigResource.CLIENT_METRICS:
            return describe_client_metrics(configs, names)
        self._require_this_node(name)
        if kind is ConfigResource.BROKER:
            return describe_broker(self._layers(image), names)
        return [
            _logger_entry(logger, level)
            for logger, level in sorted(self._loggers().items())
            if names is None or logger in names
        ]

    def _layers(self, image: MetadataImage) -> BrokerLayers:
        node = str(self._cluster.node_id)
        return BrokerLayers(
            self._properties,
            image.config(ConfigResource.BROKER, ""),
            image.config(ConfigResource.BROKER, node),
        )

    def _require_this_node(self, name: str) -> None:
        """A broker knows its own settings only."""
        if _BROKER_ID.fullmatch(name) is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"A broker id is a number, not {name!r}.")
        if int(name) != self._cluster.node_id:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"This is broker {self._cluster.node_id}; it cannot tell the settings of {name}.",
            )


def _alike(resource: DescribeConfigsResource, image: MetadataImage) -> object:
    """What two resources of one kind must have in common to be described the same way."""
    kind, name = resource.resource_type, resource.resource_name
    own = tuple(sorted(image.config(kind, name).items()))
    keys = tuple(resource.configuration_keys or ())
    is_any = kind in (ConfigResource.GROUP, ConfigResource.CLIENT_METRICS) and bool(name)
    if is_any or (kind == ConfigResource.TOPIC and name in image.topics_by_name):
        return kind, own, keys
    return kind, own, keys, name


def _check_access(context: RequestContext, resource: DescribeConfigsResource) -> None:
    kind = ConfigResource(resource.resource_type)
    guard, code = _GUARDS.get(kind, _CLUSTER_GUARD)
    name = CLUSTER_NAME if guard is ResourceType.CLUSTER else resource.resource_name
    if not context.allows(Operation.DESCRIBE_CONFIGS, guard, name):
        raise KafkaError(code)


def _result(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=int(entry.source),
        is_sensitive=entry.sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=name, value=value, source=int(source))
            for name, value, source in synonyms
        ],
        config_type=int(entry.type),
        documentation=(entry.documentation or None) if request.include_documentation else None,
    )


def _logger_entry(name: str, level: str) -> ConfigEntry:
    source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    return ConfigEntry(name, level, source, SettingType.UNKNOWN, False, False, (), "")
