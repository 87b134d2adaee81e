"""Who may do what: principals, operations, resources, and the authorizer that decides.

Every API declares what it needs (see `api_table`), and every request carries a principal, from
the first day on; until security is configured everybody is ANONYMOUS and everything is allowed.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol


class Operation(IntEnum):
    """Kafka's operations, with the codes of the ACL APIs."""

    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class ResourceType(IntEnum):
    """Kafka's resource types, with the codes of the ACL APIs."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


#: The one resource of type CLUSTER.
CLUSTER_NAME = "kafka-cluster"


@dataclass(frozen=True, slots=True)
class Principal:
    """Whoever a connection has proven to be."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


ANONYMOUS = Principal("User", "ANONYMOUS")


class Authorizer(Protocol):
    """Decides single questions; deny wins, and an unknown resource is no excuse."""

    def allows(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource: ResourceType,
        name: str,
    ) -> bool: ...

    def allows_any(
        self, principal: Principal, host: str, operation: Operation, resource: ResourceType
    ) -> bool:
        """Whether there is some resource of this type on which the operation is allowed."""
        ...


class AllowAll:
    """What Kafka does without `authorizer.class.name`."""

    def allows(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource: ResourceType,
        name: str,
    ) -> bool:
        return True

    def allows_any(
        self, principal: Principal, host: str, operation: Operation, resource: ResourceType
    ) -> bool:
        return True


#: The operations that make sense on a resource, in the order of their codes.
RESOURCE_OPERATIONS: dict[ResourceType, tuple[Operation, ...]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
}
