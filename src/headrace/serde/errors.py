"""What may go wrong between bytes and values: each failure is one sentence."""

from __future__ import annotations


class SerdeError(ValueError):
    """Data that does not fit its schema, or bytes that are not what they claim to be."""


class SchemaError(SerdeError):
    """A schema that cannot be understood."""


class RegistryError(SerdeError):
    """The registry refused; `code` is its own error code, for example 40403."""

    def __init__(self, message: str, status: int, code: int) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class RegistryUnavailableError(SerdeError):
    """No address of the registry gave an answer, or all are in trouble: later they may."""
