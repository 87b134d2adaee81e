"""Formats that are decoded record by record, in Python: what they share.

A format gives the type of its column and a function from bytes to a value of that type; here are
the header, the schema's id and the rows that cannot be decoded.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from headrace.serde.avro_columns.decoder import Decoded
from headrace.serde.errors import (
    RegistryError,
    RegistryUnavailableError,
    SchemaError,
    SerdeError,
)
from headrace.serde.registry_client import RegistryClient
from headrace.serde.wire import PREFIX_SIZE, read_prefix

_SERVER_ERROR = 500
#: An id that the registry does not know may be one that it does not know yet.
_ASK_AGAIN_S = 30.0
_UNKNOWN_MAX = 1000

#: From a record's bytes to a value; the number is where the value begins.
DecodeRecord = Callable[[bytes, int], Any]


class RecordColumnDecoder(ABC):
    """Decodes a column one record after the other."""

    arrow_type: pa.DataType

    def __init__(self, registry: RegistryClient) -> None:
        self._registry = registry
        self._by_id: dict[int, DecodeRecord] = {}
        self._unknown: dict[int, tuple[float, SchemaError]] = {}

    def decode(self, column: pa.Array) -> Decoded:
        values: list[Any] = []
        reasons: dict[int, str] = {}
        for row, data in enumerate(column.to_pylist()):
            value = None
            if data is not None:
                try:
                    value = self._record(data)
                except RegistryUnavailableError:
                    raise
                except RegistryError as error:
                    # A registry in trouble is no fault of the record.
                    if error.status >= _SERVER_ERROR:
                        raise
                    reasons[row] = str(error)
                except SerdeError as error:
                    reasons[row] = str(error)
            values.append(value)
        return Decoded(pa.array(values, self.arrow_type), reasons)

    def _record(self, data: bytes) -> Any:
        schema_id = read_prefix(data)
        decode = self._by_id.get(schema_id)
        if decode is None:
            decode = self._by_id[schema_id] = self._found(schema_id)
        return decode(data, PREFIX_SIZE)

    def _found(self, schema_id: int) -> DecodeRecord:
        until, failure = self._unknown.get(schema_id, (0.0, None))
        if failure is not None and time.monotonic() < until:
            raise failure
        try:
            return self._decoder_of(schema_id)
        except SchemaError as error:
            if len(self._unknown) >= _UNKNOWN_MAX:
                self._unknown.clear()
            self._unknown[schema_id] = (time.monotonic() + _ASK_AGAIN_S, error)
            raise

    @abstractmethod
    def _decoder_of(self, schema_id: int) -> DecodeRecord:
        """The function for records of a schema; a `SchemaError` if there is none."""
