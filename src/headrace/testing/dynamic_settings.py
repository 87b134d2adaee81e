"""What a test has set on a running node: broker settings in the cluster's metadata."""

from __future__ import annotations

from typing import NamedTuple

from headrace.base.settings.broker import BROKER_SETTINGS
from headrace.base.settings.definition import UpdateMode
from headrace.base.settings.effective import ConfigSource
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

_BROKER = 4
_SETTABLE = tuple(
    name
    for name, setting in BROKER_SETTINGS.items()
    if setting.update_mode is not UpdateMode.READ_ONLY
)
_DYNAMIC = (ConfigSource.DYNAMIC_BROKER_CONFIG, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)


class DynamicSetting(NamedTuple):
    """For one broker, or for all where `broker` is empty; a secret has no value here."""

    broker: str
    name: str
    value: str | None


def dynamic_settings(client: KafkaClient) -> set[DynamicSetting]:
    """Those of all brokers and of the only one."""
    brokers = ["", *map(str, client.cluster().nodes)]
    # A broker asked for everything would describe what nobody can set while it runs as well.
    resources = [
        DescribeConfigsResource(
            resource_type=_BROKER,
            resource_name=name,
            configuration_keys=[*_SETTABLE] if name else None,
        )
        for name in brokers
    ]
    answer = client.any_node().call(
        DescribeConfigsRequest(resources=resources), DescribeConfigsResponse
    )
    for result in answer.results:
        raise_for_code(result.error_code, result.error_message)
    return {
        DynamicSetting(result.resource_name, row.name, row.value)
        for result in answer.results
        for row in result.configs
        if row.config_source in _DYNAMIC
    }
