"""Apache Kafka's programs: command lines for the JVM, and its tools run to their end.

`java_tool("TopicCommand", "--list", "--bootstrap-server", address)` runs the class behind
`kafka-topics.sh`. A JVM for a short tool is tuned for its start; one that measures or serves
takes `DEFAULT_JVM`, which is what Kafka's own scripts use.
"""

import subprocess
from collections.abc import Sequence

from tests.support.tools import JAVA_LIB, JAVA_SOURCES, require_java

#: A JVM that starts fast: no optimising compiler, the simplest collector.
QUICK_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx256m")

#: What kafka-run-class.sh passes unless told otherwise.
DEFAULT_JVM = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)

#: Classes that do not live in org.apache.kafka.tools itself.
_MAIN_CLASSES = {
    "Kafka": "kafka.Kafka",
    "ConfigCommand": "kafka.admin.ConfigCommand",
    "StorageTool": "kafka.tools.StorageTool",
    "ConsoleConsumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "ConsumerGroupCommand": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "ReassignPartitionsCommand": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "ShareGroupCommand": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
}


class ToolFailedError(AssertionError):
    """A tool ended with an exit code other than 0; carries everything it printed."""


def main_class(name: str) -> str:
    """The class of a tool by its short name; a full class name stays as it is."""
    if "." in name:
        return name
    return _MAIN_CLASSES.get(name, f"org.apache.kafka.tools.{name}")


def java_command(name: str, *args: str, jvm: Sequence[str] = QUICK_JVM) -> list[str]:
    """The command line that runs one of Apache Kafka's programs."""
    return [
        require_java(),
        *jvm,
        f"-Dlog4j2.configurationFile={JAVA_SOURCES / 'log4j2.properties'}",
        "-cp",
        f"{JAVA_LIB}/*",
        main_class(name),
        *args,
    ]


def java_tool(
    name: str,
    *args: str,
    stdin: str | None = None,
    timeout: float = 60.0,
    check: bool = True,
    jvm: Sequence[str] = QUICK_JVM,
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end; unless `check` is off, a failure raises with its output."""
    done = subprocess.run(
        java_command(name, *args, jvm=jvm),
        input="" if stdin is None else stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if check and done.returncode != 0:
        raise ToolFailedError(
            f"{name} {' '.join(args)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
    return done
