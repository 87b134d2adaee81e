"""UnregisterBroker: the cluster forgets a broker that will not come back."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.context import RequestContext
from headrace.broker.controller_gate import Controller, ask
from headrace.broker.parked import Parked
from headrace.metadata.controller.brokers import unregister_broker
from headrace.metadata.controller.settings import ControllerSettings
from headrace.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


class UnregisterBrokerHandler:
    """Serves API key 64."""

    def __init__(self, controller: Controller, settings: ControllerSettings, own_id: int) -> None:
        self._controller = controller
        self._settings = settings
        self._own_id = own_id

    def __call__(
        self, context: RequestContext, request: UnregisterBrokerRequest
    ) -> UnregisterBrokerResponse | Parked:
        def refuse(error: KafkaError) -> UnregisterBrokerResponse:
            return UnregisterBrokerResponse(
                error_code=int(error.code), error_message=error.message or None
            )

        if request.broker_id == self._own_id:
            # It would lead nothing any more, and serve nobody, until somebody started it again.
            message = f"Broker {self._own_id} is running; stop it before it is unregistered."
            return refuse(KafkaError(ErrorCode.INVALID_REQUEST, message))
        return ask(
            self._controller,
            lambda image: unregister_broker(image, self._settings, request.broker_id),
            lambda _: UnregisterBrokerResponse(),
            refuse,
        )
