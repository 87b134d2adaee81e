"""AlterConfigs and IncrementalAlterConfigs: one replaces all settings, one changes single ones."""

from __future__ import annotations

import re
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.controller_gate import Controller, ask
from headrace.broker.loggers import alter_levels
from headrace.broker.parked import Parked
from headrace.metadata.controller import configs
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.image import ConfigKey, ConfigResource
from headrace.protocol.messages import alter_configs, incremental_alter_configs
from headrace.protocol.messages.alter_configs import AlterConfigsRequest
from headrace.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

_RESOURCE_TYPES = {
    ConfigResource.TOPIC: ResourceType.TOPIC,
    ConfigResource.GROUP: ResourceType.GROUP,
}


class AlterConfigsHandler:
    """Serves API key 33."""

    def __init__(self, controller: Controller, settings: ControllerSettings) -> None:
        self._controller = controller
        self._settings = settings

    def __call__(self, context: RequestContext, request: AlterConfigsRequest) -> Parked:
        resources = _Resources(context, request.resources)
        wanted = {
            key: {config.name: config.value for config in resource.configs}
            for key, resource in resources.allowed.items()
            if resources.has_values(key, resource.configs)
        }
        return ask(
            self._controller,
            lambda image: configs.legacy_alter_configs(
                image, self._settings, wanted, validate_only=request.validate_only
            ),
            lambda outcomes: resources.answer(outcomes, alter_configs),
            lambda error: resources.answer(dict.fromkeys(wanted, error), alter_configs),
        )


class IncrementalAlterConfigsHandler:
    """Serves API key 44."""

    def __init__(self, controller: Controller, settings: ControllerSettings, node_id: int) -> None:
        self._controller = controller
        self._settings = settings
        self._node_id = node_id

    def __call__(self, context: RequestContext, request: IncrementalAlterConfigsRequest) -> Parked:
        resources = _Resources(context, request.resources)
        wanted: dict[ConfigKey, configs.Operations] = {}
        for key, resource in list(resources.allowed.items()):
            names = [config.name for config in resource.configs]
            if len(set(names)) < len(names):
                resources.settle(
                    key, KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
                )
                continue
            given = [
                config
                for config in resource.configs
                if config.config_operation != configs.ConfigOperation.DELETE
            ]
            if not resources.has_values(key, given):
                continue
            operations = {
                config.name: (config.config_operation, config.value) for config in resource.configs
            }
            if key[0] == ConfigResource.BROKER_LOGGER:
                resources.settle(key, self._alter_loggers(key[1], operations, request))
            else:
                wanted[key] = operations
        return ask(
            self._controller,
            lambda image: configs.incremental_alter_configs(
                image, self._settings, wanted, validate_only=request.validate_only
            ),
            lambda outcomes: resources.answer(outcomes, incremental_alter_configs),
            lambda error: resources.answer(dict.fromkeys(wanted, error), incremental_alter_configs),
        )

    def _alter_loggers(
        self,
        node: str,
        operations: configs.Operations,
        request: IncrementalAlterConfigsRequest,
    ) -> KafkaError | None:
        """Levels are this process's own affair: no controller hears of them (KIP-412)."""
        try:
            if not re.fullmatch(r"[+-]?[0-9]{1,10}", node):
                message = f"Node id must be an integer, but it is: {node}"
                raise KafkaError(ErrorCode.INVALID_REQUEST, message)
            if int(node) != self._node_id:
                message = f"Unexpected node id. Expected {self._node_id}, but received {node}"
                raise KafkaError(ErrorCode.INVALID_REQUEST, message)
            alter_levels(operations, validate_only=request.validate_only)
        except KafkaError as error:
            return error
        return None


class _Resources:
    """The resources of a request: those that may be changed, and what became of the others."""

    def __init__(self, context: RequestContext, asked: list[Any]) -> None:
        self.allowed: dict[ConfigKey, Any] = {}
        self._settled: dict[ConfigKey, KafkaError | None] = {}
        self._keys: list[ConfigKey] = []
        for resource in asked:
            key = (resource.resource_type, resource.resource_name)
            self._keys.append(key)
            if not _may_alter(context, key):
                self.settle(key, _authorization_failure(key))
            elif key in self.allowed:
                del self.allowed[key]
                self.settle(key, KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate resource."))
            elif key not in self._settled:
                self.allowed[key] = resource

    def settle(self, key: ConfigKey, outcome: KafkaError | None) -> None:
        """The controller need not be asked: why it cannot be, or None if it is done."""
        self._settled[key] = outcome

    def has_values(self, key: ConfigKey, given: list[Any]) -> bool:
        """Whether no config is set to null; refuses the resource otherwise."""
        nulls = [config.name for config in given if config.value is None]
        if nulls:
            message = f"Null value not supported for : {', '.join(nulls)}"
            self.settle(key, KafkaError(ErrorCode.INVALID_REQUEST, message))
        return not nulls

    def answer(self, outcomes: dict[ConfigKey, KafkaError | None], module: Any) -> Any:
        """The response, with the classes of one of the two APIs' modules."""
        everything = {**outcomes, **self._settled}
        responses = []
        for key in dict.fromkeys(self._keys):
            error = everything[key]
            responses.append(
                module.AlterConfigsResourceResponse(
                    error_code=ErrorCode.NONE if error is None else int(error.code),
                    error_message=None if error is None else error.message or None,
                    resource_type=key[0],
                    resource_name=key[1],
                )
            )
        if module is alter_configs:
            return alter_configs.AlterConfigsResponse(responses=responses)
        return incremental_alter_configs.IncrementalAlterConfigsResponse(responses=responses)


def _may_alter(context: RequestContext, key: ConfigKey) -> bool:
    kind = _RESOURCE_TYPES.get(ConfigResource(key[0])) if key[0] in tuple(ConfigResource) else None
    if kind is None:
        return context.allows(Operation.ALTER_CONFIGS, ResourceType.CLUSTER, CLUSTER_NAME)
    return context.allows(Operation.ALTER_CONFIGS, kind, key[1])


def _authorization_failure(key: ConfigKey) -> KafkaError:
    code = {
        int(ConfigResource.TOPIC): ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        int(ConfigResource.GROUP): ErrorCode.GROUP_AUTHORIZATION_FAILED,
    }.get(key[0], ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return KafkaError(code, "Authorization failed.")
