"""The doctor's look at replication: are there brokers for what the settings ask?

A `min.isr` above the number of brokers is not looked at: like Kafka, a node never waits for more
replicas than a partition has.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headrace.base.settings.typed import integer
from headrace.broker.coordination.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from headrace.cli.doctor_findings import Finding, wrong

if TYPE_CHECKING:
    from headrace.server.config import NodeConfig

#: What cannot be, and the topic that it takes: one that exists keeps the replicas it has.
_NEEDS = {
    "offsets.topic.replication.factor": ("no consumer group can start", OFFSETS_TOPIC),
    "transaction.state.log.replication.factor": ("no transaction can start", TRANSACTIONS_TOPIC),
    "default.replication.factor": ("topics that name no replication factor are refused", None),
}


def check_replication(config: NodeConfig, broker_count: int) -> list[Finding]:
    findings = []
    for name, (consequence, topic) in _NEEDS.items():
        wanted = integer(config.values, name)
        if wanted > broker_count and not (topic and _exists(topic, config)):
            brokers = f"{broker_count} broker{'' if broker_count == 1 else 's'}"
            text = f"{name} is {wanted}, but the cluster has {brokers}: {consequence}."
            findings.append(wrong("replication", f"{text} Set it to {broker_count}."))
    return findings


def _exists(topic: str, config: NodeConfig) -> bool:
    return any(os.path.exists(os.path.join(path, f"{topic}-0")) for path in config.log_dirs)
