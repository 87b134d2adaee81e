"""The tools of `headrace`, by theme: the one list from which help and dispatch are made."""

from __future__ import annotations

from typing import NamedTuple


class Tool(NamedTuple):
    """A tool: its name on the command line, what it is for, and the module that holds it."""

    name: str
    summary: str
    module: str


THEMES: dict[str, tuple[Tool, ...]] = {
    "Run": (
        Tool("up", "start a node for development, with no configuration", "up"),
        Tool("server", "start a node from a server.properties file", "server"),
        Tool("storage", "format data directories, and tell what is in them", "storage"),
        Tool("schema-registry", "start a schema registry", "schema_registry"),
        Tool("rest-proxy", "start a REST proxy: Kafka over HTTP", "rest_proxy"),
        Tool("pipelines", "run pipelines on Spark, show, stop and reset them", "pipelines"),
        Tool("doctor", "say what is wrong with a set-up, in plain sentences", "doctor"),
    ),
    "Topics and records": (
        Tool("topics", "create, list, describe, alter and delete topics", "topics"),
        Tool("console-producer", "send lines of text as records", "console_producer"),
        Tool("console-consumer", "print the records of topics", "console_consumer"),
        Tool("get-offsets", "print the offsets of partitions", "get_offsets"),
        Tool("delete-records", "delete records up to an offset", "delete_records"),
    ),
    "Schemas": (Tool("schemas", "check, register and compare schemas in a build", "schemas"),),
    "Groups and transactions": (
        Tool("consumer-groups", "show, reset and delete groups of consumers", "consumer_groups"),
        Tool("groups", "list groups of every kind", "groups"),
        Tool("transactions", "show transactions, find and abort hanging ones", "transactions"),
    ),
    "Cluster": (
        Tool("configs", "show and change settings of topics, brokers and others", "configs"),
        Tool("cluster", "print the cluster id, list endpoints, unregister a broker", "cluster"),
        Tool("features", "show, upgrade and downgrade feature levels", "features"),
        Tool("metadata-quorum", "show the state of the metadata quorum", "metadata_quorum"),
        Tool("broker-api-versions", "show which APIs each broker serves", "broker_api_versions"),
        Tool("leader-election", "elect preferred or unclean leaders", "leader_election"),
        Tool("log-dirs", "show what each broker's data directories hold", "log_dirs"),
    ),
    "Look inside": (
        Tool("dump-log", "print the contents of log segments and indexes", "dump_log"),
        Tool("commands", "print all commands and their options", "commands"),
    ),
    "Measure": (
        Tool("producer-perf-test", "measure producing", "producer_perf_test"),
        Tool("consumer-perf-test", "measure consuming", "consumer_perf_test"),
        Tool("e2e-latency", "measure the time from producer to consumer", "e2e_latency"),
        Tool(
            "verifiable-producer", "send numbers, tell of each what became", "verifiable_producer"
        ),
        Tool("verifiable-consumer", "tell all that a group's member sees", "verifiable_consumer"),
    ),
}


#: Scripts that are one action of a tool here, by their names without `kafka-` and `.sh`.
_SCRIPTS = {
    "server-start": ("server", "start"),
    "server-stop": ("server", "stop"),
    "schema-registry-start": ("schema-registry", "start"),
    "rest-start": ("rest-proxy", "start"),
}


def plain_name(name: str) -> str:
    """The name of a tool without what Kafka's scripts have around it (`kafka-topics.sh`)."""
    return name.removesuffix(".sh").removeprefix("kafka-")


def find_command(name: str) -> tuple[Tool, list[str]] | None:
    """The tool of that name or of Kafka's script, and the arguments that the name stands for."""
    plain = plain_name(name)
    wanted, *arguments = _SCRIPTS.get(plain, (plain,))
    for tools in THEMES.values():
        for tool in tools:
            if tool.name == wanted:
                return tool, arguments
    return None
