"""UnregisterBroker, as far as one node can be asked."""

from headrace.base.errors import ErrorCode
from headrace.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tests.unit.broker.fakes import NODE_ID
from tests.unit.broker.harness import Broker


def test_a_running_node_is_not_unregistered_through_itself(broker: Broker) -> None:
    answer = broker.ask(UnregisterBrokerRequest(broker_id=NODE_ID))
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert "stop it" in answer.error_message
    broker.create_topic("t")
    assert broker.partition("t").is_leader


def test_a_broker_that_is_not_there_is_not_found(broker: Broker) -> None:
    answer = broker.ask(UnregisterBrokerRequest(broker_id=77))
    assert answer.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
