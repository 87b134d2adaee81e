"""What the proxy answers when it cannot do what was asked: Confluent's codes and messages."""

from __future__ import annotations


class RestError(Exception):
    """An answer other than success: HTTP status, error code of the API, one sentence."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def bad_request(message: str) -> RestError:
    return RestError(400, 400, message)


def invalid(message: str) -> RestError:
    """A body that is JSON, but not what the API takes."""
    return RestError(422, 422, message)


def not_found(message: str = "HTTP 404 Not Found") -> RestError:
    return RestError(404, 404, message)


def topic_not_found() -> RestError:
    return RestError(404, 40401, "Topic not found.")


def partition_not_found() -> RestError:
    return RestError(404, 40402, "Partition not found.")


def instance_not_found() -> RestError:
    return RestError(404, 40403, "Consumer instance not found.")


def format_mismatch() -> RestError:
    return RestError(
        406,
        40601,
        "The requested embedded data format does not match the deserializer for this consumer"
        " instance",
    )


def instance_exists() -> RestError:
    return RestError(
        409,
        40902,
        "Consumer with specified consumer ID already exists in the specified consumer group.",
    )


def illegal_state(message: str) -> RestError:
    return RestError(409, 40903, f"Illegal state: {message}")


def key_schema_missing() -> RestError:
    return RestError(422, 42201, "Request includes keys but does not include key schema")


def value_schema_missing() -> RestError:
    return RestError(422, 42202, "Request includes values but does not include value schema")


def conversion_failed(message: str) -> RestError:
    return RestError(422, 42203, f"Conversion of JSON to Object failed: {message}")


def invalid_consumer_config(message: str) -> RestError:
    return RestError(422, 42204, f"Invalid consumer configuration: {message}")


def invalid_schema(message: str) -> RestError:
    return RestError(422, 42205, f"Invalid schema: {message}")


def invalid_payload(message: str) -> RestError:
    return RestError(422, 42206, f"Payload error. {message}")


def serialization_failed(message: str) -> RestError:
    return RestError(422, 42207, f"Error serializing message. {message}")


def too_large(limit: int) -> RestError:
    return RestError(413, 413, f"The request body is larger than {limit} bytes.")


def too_slow() -> RestError:
    return RestError(408, 408, "The request body comes too slowly.")


def unsupported_media_type() -> RestError:
    return RestError(415, 415, "HTTP 415 Unsupported Media Type")


def not_acceptable() -> RestError:
    return RestError(406, 406, "HTTP 406 Not Acceptable")
