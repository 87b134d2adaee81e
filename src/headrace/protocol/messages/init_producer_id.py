"""InitProducerId (API key 22): gives an idempotent or transactional producer its id and epoch.

Version 6 (two-phase commit, KIP-939) is not yet stable in Kafka 4.3, so it is not listed.
"""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    boolean,
    int16,
    int32,
    int64,
    string,
)


class InitProducerIdRequest(Request, key=22, versions="0-6", flexible="2+"):
    transactional_id: str | None = string(null="0+")
    transaction_timeout_ms: int = int32()
    producer_id: int = int64("3+", default=-1)
    producer_epoch: int = int16("3+", default=-1)
    enable_2pc: bool = boolean("6+")
    keep_prepared_txn: bool = boolean("6+")


class InitProducerIdResponse(Response, key=22, versions="0-6", flexible="2+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(default=-1)
    producer_epoch: int = int16()
    ongoing_txn_producer_id: int = int64("6+", default=-1)
    ongoing_txn_producer_epoch: int = int16("6+", default=-1)
