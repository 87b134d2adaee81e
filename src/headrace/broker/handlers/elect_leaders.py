"""ElectLeaders: gives partitions back to their preferred leaders, or, uncleanly, any at all.

Version 0 knew preferred elections only (KIP-460 brought the other kind and the top-level error).
"""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.context import RequestContext
from headrace.broker.controller_gate import Controller, ask
from headrace.broker.parked import Parked
from headrace.metadata.controller.elections import ElectionOutcomes, elect_leaders
from headrace.metadata.controller.settings import ControllerSettings
from headrace.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


class ElectLeadersHandler:
    """Serves API key 43."""

    def __init__(self, controller: Controller, settings: ControllerSettings) -> None:
        self._controller = controller
        self._settings = settings

    def __call__(
        self, context: RequestContext, request: ElectLeadersRequest
    ) -> ElectLeadersResponse | Parked:
        named = request.topic_partitions
        wanted = (
            None
            if named is None
            else list(
                dict.fromkeys((row.topic, index) for row in named for index in row.partitions)
            )
        )

        def refuse(error: KafkaError) -> ElectLeadersResponse:
            answer = _answer(dict.fromkeys(wanted or (), error))
            answer.error_code = int(error.code)
            return answer

        return ask(
            self._controller,
            lambda image: elect_leaders(image, self._settings, request.election_type, wanted),
            _answer,
            refuse,
        )


def _answer(outcomes: ElectionOutcomes) -> ElectLeadersResponse:
    topics: dict[str, list[PartitionResult]] = {}
    for (topic, index), error in outcomes.items():
        row = PartitionResult(partition_id=index, error_code=int(ErrorCode.NONE))
        if error is not None:
            row.error_code, row.error_message = int(error.code), error.message or None
        topics.setdefault(topic, []).append(row)
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(topic=topic, partition_result=rows)
            for topic, rows in topics.items()
        ]
    )
