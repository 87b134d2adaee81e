"""`headrace doctor`: says in plain sentences what is wrong with a set-up, and what is fine."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from headrace.base.errors import KafkaError
from headrace.cli.development_options import (
    add_place_arguments,
    client_port,
    development_settings,
)
from headrace.cli.doctor_findings import Finding, note, ok, wrong
from headrace.cli.output import add_output_argument, print_json, styled, wants_json

if TYPE_CHECKING:
    from headrace.server.config import NodeConfig

_LABELS = {"ok": ("ok   ", "green"), "note": ("note ", "yellow"), "wrong": ("WRONG", "red")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_output_argument(parser)
    add = parser.add_argument
    add("--config", "-c", metavar="FILE", help="look at the node of this server.properties file")
    add_place_arguments(parser)
    add(
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        help="look at a running cluster: can its advertised addresses be reached from here?",
    )


def run(args: argparse.Namespace) -> int:
    findings = examine(args)
    if wants_json(args):
        rows = [{"level": f.level, "subject": f.subject, "text": f.text} for f in findings]
        print_json({"findings": rows})
    else:
        for finding in findings:
            label, style = _LABELS[finding.level]
            print(f"{styled(label, style)}  {finding.text}")
        print(_summary(findings))
    return 1 if any(finding.level == "wrong" for finding in findings) else 0


def examine(args: argparse.Namespace) -> list[Finding]:
    """Everything there is to say, in the order in which it matters to a node that starts."""
    from headrace.cli import doctor_machine as machine

    findings = [machine.check_python(), *machine.check_libraries(), machine.check_open_files()]
    if args.bootstrap_server is None or args.config is not None:
        config = _load_config(args, findings)
        if config is not None:
            from headrace.cli.doctor_node import check_node

            formats = args.config is None
            beside = _ports_beside(args, config) if formats else []
            findings += check_node(config, beside, formats=formats)
    if args.bootstrap_server is not None:
        from headrace.cli.doctor_cluster import check_cluster

        findings += check_cluster(args.bootstrap_server)
    findings.append(machine.check_java())
    return findings


def _load_config(args: argparse.Namespace, findings: list[Finding]) -> NodeConfig | None:
    from headrace.server.config import NodeConfig
    from headrace.server.properties import load_properties

    try:
        if args.config is None:
            properties = development_settings(args)
        else:
            properties = load_properties(args.config, environment=os.environ)
        config = NodeConfig.from_properties(properties)
    except KafkaError as error:
        findings.append(wrong("configuration", f"The configuration is not valid: {error}"))
        return None
    if args.config is not None:
        findings.append(ok("configuration", f"{args.config} is a valid configuration."))
    findings += [note("configuration", warning) for warning in config.warnings]
    return config


def _ports_beside(args: argparse.Namespace, config: NodeConfig) -> list[tuple[str, int]]:
    """What `headrace up` would serve on ports of its own; see `headrace.cli.up`."""
    from headrace.cli.beside import REGISTRY, REST_PROXY
    from headrace.cli.up import DEFAULT_METRICS_PORT

    if not client_port(args):
        return []
    ports = [(service.label, service.default_port) for service in (REGISTRY, REST_PROXY)]
    if config.metrics_listener is None:
        ports.append(("metrics", DEFAULT_METRICS_PORT))
    return ports


def _summary(findings: list[Finding]) -> str:
    problems = sum(finding.level == "wrong" for finding in findings)
    if not problems:
        return styled("Nothing is wrong.", "bold", sys.stdout)
    what = "thing is" if problems == 1 else "things are"
    return styled(f"{problems} {what} wrong.", "bold", sys.stdout)
