"""What the registry refuses, with the HTTP status and error code its clients know."""

from __future__ import annotations


class RegistryError(Exception):
    """A request that cannot be answered; `code` is the registry's own, `status` is HTTP's."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class InvalidSchemaError(RegistryError):
    """A text that is no schema of its type, or whose references lead nowhere."""

    def __init__(self, message: str) -> None:
        super().__init__(422, 42201, message)


def subject_not_found(subject: str) -> RegistryError:
    return RegistryError(404, 40401, f"Subject '{subject}' not found.")


def version_not_found(version: int) -> RegistryError:
    return RegistryError(404, 40402, f"Version {version} not found.")


def schema_not_found(which: object = None) -> RegistryError:
    named = "" if which is None else f" {which}"
    return RegistryError(404, 40403, f"Schema{named} not found")


def subject_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(
        404,
        40404,
        f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently",
    )


def subject_not_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(
        404,
        40405,
        f"Subject '{subject}' was not deleted first before being permanently deleted",
    )


def version_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(
        404,
        40406,
        f"Subject '{subject}' Version {version} was soft deleted."
        " Set permanent=true to delete permanently",
    )


def version_not_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(
        404,
        40407,
        f"Subject '{subject}' Version {version} was not deleted first"
        " before being permanently deleted",
    )


def config_not_found(subject: str) -> RegistryError:
    return RegistryError(
        404, 40408, f"Subject '{subject}' does not have subject-level compatibility configured"
    )


def mode_not_found(subject: str) -> RegistryError:
    return RegistryError(
        404, 40409, f"Subject '{subject}' does not have subject-level mode configured"
    )


def incompatible(subject: str, messages: list[str]) -> RegistryError:
    return RegistryError(
        409,
        409,
        "Schema being registered is incompatible with an earlier schema"
        f' for subject "{subject}", details: [{", ".join(messages)}]',
    )


def invalid_version(text: object) -> RegistryError:
    return RegistryError(
        422,
        42202,
        f"The specified version '{text}' is not a valid version id."
        ' Allowed values are between [1, 2^31-1] and the string "latest"',
    )


def invalid_compatibility() -> RegistryError:
    levels = "none, backward, forward, full, backward_transitive, forward_transitive"
    return RegistryError(
        422,
        42203,
        f"Invalid compatibility level. Valid values are {levels}, and full_transitive",
    )


def invalid_mode() -> RegistryError:
    return RegistryError(
        422,
        42204,
        "Invalid mode. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, and IMPORT.",
    )


def not_permitted(message: str) -> RegistryError:
    return RegistryError(422, 42205, message)


def reference_exists(subject: str, version: int) -> RegistryError:
    key = f"{{magic=1,keytype=SCHEMA,subject={subject},version={version}}}"
    return RegistryError(422, 42206, f"One or more references exist to the schema {key}.")


def id_does_not_match(message: str) -> RegistryError:
    return RegistryError(422, 42207, message)


def invalid_subject(subject: str) -> RegistryError:
    return RegistryError(422, 42208, f"The specified subject '{subject}' is not valid.")


def schema_too_large() -> RegistryError:
    return RegistryError(
        422, 42209, "The schema is larger than a record of the schemas topic may be"
    )


def invalid_rule_set(message: str) -> RegistryError:
    return RegistryError(422, 42210, message)


def context_not_empty(context: str) -> RegistryError:
    return RegistryError(422, 42211, f"The specified context '{context}' is not empty.")


def store_failed(message: str) -> RegistryError:
    return RegistryError(500, 50001, message)


def timed_out(message: str) -> RegistryError:
    return RegistryError(500, 50002, message)


def forwarding_failed(message: str) -> RegistryError:
    return RegistryError(500, 50003, message)


def unknown_leader() -> RegistryError:
    return RegistryError(500, 50004, "Leader not known.")
