"""Changing the settings of topics, brokers, groups and client metrics subscriptions."""

from collections.abc import Mapping, Sequence
from enum import IntEnum

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata.controller.leadership import elr_enabled
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.controller.settings import MIN_INSYNC_REPLICAS, ControllerSettings
from headrace.metadata.controller.topic_names import check_topic_name
from headrace.metadata.features import CORDONED_DIRECTORIES_LEVEL, metadata_version_name
from headrace.metadata.image import ConfigKey, ConfigResource, MetadataImage
from headrace.metadata.record_codec import AnyRecord
from headrace.metadata.records import ClearElrRecord, ConfigRecord
from headrace.protocol.messages.create_topics import CreatableTopic

VALUE_LENGTH_MAX = 32_767

_CORDONED_DIRECTORIES = "cordoned.log.dirs"


class ConfigOperation(IntEnum):
    """What IncrementalAlterConfigs may do to one setting."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


#: Setting -> operation and its value.
Operations = Mapping[str, tuple[int, str | None]]
#: The outcome for each resource; None where it worked.
Outcomes = dict[ConfigKey, KafkaError | None]


def incremental_alter_configs(
    image: MetadataImage,
    settings: ControllerSettings,
    changes: Mapping[ConfigKey, Operations],
    *,
    validate_only: bool = False,
) -> ControllerResult[Outcomes]:
    """Change single settings; each resource succeeds or fails by itself."""
    altered: list[ConfigRecord] = []
    outcomes: Outcomes = {}
    for key, operations in changes.items():
        try:
            new = _incremental_records(image, settings, key, operations)
            _check_change(image, settings, key, new, exists=True)
        except KafkaError as error:
            outcomes[key] = error
        else:
            outcomes[key] = None
            altered += new
    return ControllerResult(outcomes, [] if validate_only else _with_elr_resets(image, altered))


def legacy_alter_configs(
    image: MetadataImage,
    settings: ControllerSettings,
    replacements: Mapping[ConfigKey, Mapping[str, str | None]],
    *,
    validate_only: bool = False,
) -> ControllerResult[Outcomes]:
    """Replace all settings of each resource: what the request leaves out is deleted."""
    altered: list[ConfigRecord] = []
    outcomes: Outcomes = {}
    for key, wanted in replacements.items():
        current = image.configs.get(key, {})
        new = [
            _config_record(key, name, value)
            for name, value in wanted.items()
            if value != current.get(name) or key[0] == ConfigResource.BROKER
        ]
        new += [_config_record(key, name, None) for name in current if name not in wanted]
        try:
            _check_change(image, settings, key, new, exists=True)
        except KafkaError as error:
            outcomes[key] = error
        else:
            outcomes[key] = None
            altered += new
    return ControllerResult(outcomes, [] if validate_only else _with_elr_resets(image, altered))


def created_config_records(
    image: MetadataImage, settings: ControllerSettings, topic: CreatableTopic
) -> list[AnyRecord]:
    """The settings that a new topic brings along."""
    nulls = [config.name for config in topic.configs if config.value is None]
    if nulls:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Null value not supported for topic configs: {','.join(nulls)}",
        )
    if not topic.configs:
        return []
    key = (int(ConfigResource.TOPIC), topic.name)
    wanted = {config.name: config.value for config in topic.configs}
    records = [_config_record(key, name, value) for name, value in wanted.items()]
    _check_change(image, settings, key, records, exists=False)
    return list(records)


def _incremental_records(
    image: MetadataImage, settings: ControllerSettings, key: ConfigKey, operations: Operations
) -> list[ConfigRecord]:
    current = image.configs.get(key, {})
    records: list[ConfigRecord] = []
    for name, (operation, value) in operations.items():
        before = current.get(name)
        after = _operate(settings, key, name, operation, before, value)
        # Brokers get a record even if nothing changes: it makes them read their key stores anew.
        if after != before or key[0] == ConfigResource.BROKER:
            records.append(_config_record(key, name, after))
    return records


def _operate(
    settings: ControllerSettings,
    key: ConfigKey,
    name: str,
    operation: int,
    before: str | None,
    value: str | None,
) -> str | None:
    if operation == ConfigOperation.SET:
        return value
    if operation == ConfigOperation.DELETE:
        return None
    if operation not in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown config operation {operation}.")
    if not settings.is_list_setting(key[0], name):
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Can't {ConfigOperation(operation).name} to key {name} because its type is not LIST.",
        )
    if before is None:
        before = settings.default_setting(key[0], name)
    parts = [part for part in (before or "").split(",") if part]
    for part in (value or "").split(","):
        if operation == ConfigOperation.APPEND and part not in parts:
            parts.append(part)
        elif operation == ConfigOperation.SUBTRACT and part in parts:
            parts.remove(part)
    return ",".join(parts)


def _check_change(
    image: MetadataImage,
    settings: ControllerSettings,
    key: ConfigKey,
    records: Sequence[ConfigRecord],
    *,
    exists: bool,
) -> None:
    """Raise unless the resource may have all settings it would then have."""
    result = dict(image.configs.get(key, {}))
    for record in records:
        _check_min_isr(image, key, record)
        _check_cordoned(image, key, record)
        if record.value is None:
            result.pop(record.name, None)
        elif len(record.value) > VALUE_LENGTH_MAX:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                "The configuration value cannot be added because it exceeds the maximum value size"
                f" of {VALUE_LENGTH_MAX} bytes.",
            )
        else:
            result[record.name] = record.value
    _check_resource_name(key)
    settings.config_check(key[0])(key[1], result, image)
    if exists:
        _check_exists(image, key)


def _check_min_isr(image: MetadataImage, key: ConfigKey, record: ConfigRecord) -> None:
    """With eligible leader replicas, all controllers must agree on `min.insync.replicas`."""
    is_concerned = record.name == MIN_INSYNC_REPLICAS and key[0] == ConfigResource.BROKER
    if not is_concerned or not elr_enabled(image):
        return
    if key[1]:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Broker-level {MIN_INSYNC_REPLICAS} cannot be altered while ELR is enabled.",
        )
    if record.value is None:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Cluster-level {MIN_INSYNC_REPLICAS} cannot be removed while ELR is enabled.",
        )


def _check_cordoned(image: MetadataImage, key: ConfigKey, record: ConfigRecord) -> None:
    """Before the cluster can register cordoned directories nobody may name any (KIP-1066)."""
    is_concerned = record.name == _CORDONED_DIRECTORIES and key[0] == ConfigResource.BROKER
    if is_concerned and image.metadata_version < CORDONED_DIRECTORIES_LEVEL:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"The {record.name} configuration value cannot be set because it requires"
            f" metadata.version >= {metadata_version_name(CORDONED_DIRECTORIES_LEVEL)}",
        )


def _check_resource_name(key: ConfigKey) -> None:
    kind, name = key
    problem = ""
    if kind == ConfigResource.TOPIC:
        if name:
            check_topic_name(name)
        else:
            problem = "Default topic resources are not allowed."
    elif kind == ConfigResource.BROKER:
        if name and not name.removeprefix("-").isdecimal():
            problem = "Unable to parse broker name as a base 10 number."
        elif name.startswith("-"):
            problem = "Invalid negative broker ID."
    elif kind == ConfigResource.GROUP:
        if not name:
            problem = "Default group resources are not allowed."
    elif kind != ConfigResource.CLIENT_METRICS:
        problem = f"Unknown resource type {kind}"
    if problem:
        raise KafkaError(ErrorCode.INVALID_REQUEST, problem)


def _check_exists(image: MetadataImage, key: ConfigKey) -> None:
    kind, name = key
    if kind == ConfigResource.TOPIC and name not in image.topics_by_name:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
        )
    if kind == ConfigResource.BROKER and name:
        node_id = int(name)
        if node_id not in image.brokers and node_id not in image.controllers:
            raise KafkaError(
                ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {node_id} found."
            )


def _with_elr_resets(image: MetadataImage, records: Sequence[ConfigRecord]) -> list[AnyRecord]:
    """A new `min.insync.replicas` makes what the ELR says of the past meaningless."""
    result: list[AnyRecord] = list(records)
    if elr_enabled(image):
        result += [
            ClearElrRecord(
                topic_name=(
                    record.resource_name if record.resource_type == ConfigResource.TOPIC else ""
                )
            )
            for record in records
            if record.name == MIN_INSYNC_REPLICAS
        ]
    return result


def _config_record(key: ConfigKey, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=key[0], resource_name=key[1], name=name, value=value)
