"""Where a node's properties come from: a Java `.properties` file, the environment, `--override`.

A node for development has defaults in place of the file. A later source replaces an earlier one, in
that order, as in Kafka's container images; every value remembers its origin, so that a complaint
can say which file, variable or flag to look at.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.java_properties import decode_properties, parse_properties

_ENVIRONMENT_PREFIX = "KAFKA_"
# Settings of the REST proxy, which may be started from the same environment.
_REST_PREFIX = "KAFKA_REST_"
# Variables of Kafka's images and scripts that are no broker settings.
_NOT_SETTINGS = frozenset(
    _ENVIRONMENT_PREFIX + name
    for name in (
        "BOOTSTRAP_SERVERS",
        "GC_LOG_OPTS",
        "HEAP_OPTS",
        "HOME",
        "JMX_HOSTNAME",
        "JMX_OPTS",
        "JMX_PORT",
        "JVM_PERFORMANCE_OPTS",
        "LOG4J_LOGGERS",
        "LOG4J_OPTS",
        "LOG4J_ROOT_LOGLEVEL",
        "OPTS",
        "TOOLS_LOG4J_LOGLEVEL",
        "VERSION",
    )
)


@dataclass(slots=True)
class Properties:
    """Names and texts, and for each name where its text was found."""

    values: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, value: str, origin: str) -> None:
        self.values[name] = value
        self.origins[name] = origin


def load_properties(
    path: str | None = None,
    *,
    defaults: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    overrides: Iterable[str] = (),
) -> Properties:
    """All sources together; what is left out is not looked at."""
    properties = Properties()
    for name, value in (defaults or {}).items():
        properties.put(name, value, "development defaults")
    if path is not None:
        for line, name, value in parse_properties(_read(path)):
            properties.put(name, value, f"{path}, line {line}")
    for variable, name, value in environment_settings(environment or {}):
        properties.put(name, value, f"environment variable {variable}")
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals or not name.strip():
            message = f"--override takes name=value, not '{override}'."
            raise KafkaError(ErrorCode.INVALID_CONFIG, message)
        properties.put(name.strip(), value, "--override")
    return properties


def environment_settings(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Variable, setting name and text of each `KAFKA_…` variable that stands for a setting.

    The rule is the one of Apache's image: `_` is a dot, `__` an underscore, `___` a dash.
    """
    for variable in sorted(environment):
        if variable in _NOT_SETTINGS or variable.startswith(_REST_PREFIX):
            continue
        if variable.startswith(_ENVIRONMENT_PREFIX):
            dotted = variable.removeprefix(_ENVIRONMENT_PREFIX).lower().replace("_", ".")
            name = dotted.replace("...", "-").replace("..", "_")
            if name:
                yield variable, name, environment[variable]


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return decode_properties(file.read())
    except OSError as error:
        message = f"Cannot read {path}: {error.strerror}."
        raise KafkaError(ErrorCode.INVALID_CONFIG, message) from None
