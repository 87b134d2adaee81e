"""AlterClientQuotas (API key 49): changes quotas (KIP-546)."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    float64,
    int16,
    int32,
    string,
)


class EntityData(Struct):
    entity_type: str = string()
    entity_name: str | None = string(null="0+")


class OpData(Struct):
    key: str = string()
    value: float = float64()
    remove: bool = boolean()


class EntryData(Struct):
    entity: list[EntityData] = array(EntityData)
    ops: list[OpData] = array(OpData)


class AlterClientQuotasRequest(Request, key=49, versions="0-1", flexible="1+"):
    entries: list[EntryData] = array(EntryData)
    validate_only: bool = boolean()


class ResponseEntryData(Struct):
    error_code: int = int16()
    error_message: str | None = string(null="0+")
    entity: list[EntityData] = array(EntityData)


class AlterClientQuotasResponse(Response, key=49, versions="0-1", flexible="1+"):
    throttle_time_ms: int = int32()
    entries: list[ResponseEntryData] = array(ResponseEntryData)
