"""Apache Kafka's DumpLogSegments on every file of a data directory."""

import re
from pathlib import Path

from tests.support.tool_jvm import ToolJvm

_METADATA = "__cluster_metadata-0"
#: What the tool prints when it does not like a file; it does not always say so by its exit code.
_COMPLAINTS = re.compile(
    r"isvalid: false|^Found |^Mismatches in|^Non-|Could not decode|[Cc]orrupt|Exception|[Ee]rror"
)


def dump_directory(directory: Path, tools: ToolJvm) -> dict[str, str]:
    """Dump every log, index, snapshot and checkpoint; returns the output by partition.

    Fails on whatever the tool complains about. Compacted logs have gaps, which it mentions.
    """
    dumped = {}
    for partition in sorted(path for path in directory.iterdir() if path.is_dir()):
        if partition.name.endswith(("-delete", "-stray")):
            continue
        output = ""
        for options, suffixes in _passes(partition.name):
            files = sorted(str(p) for p in partition.iterdir() if p.suffix in suffixes)
            if files:
                output += _dump(files, options, tools, str(partition))
        dumped[partition.name] = output
    return dumped


def _passes(partition: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    if partition == _METADATA:
        decoder = ("--cluster-metadata-decoder", "--deep-iteration")
        return [(decoder, (".log", ".checkpoint")), *_INDEX_PASSES]
    return [(("--deep-iteration", "--print-data-log"), (".log",)), *_INDEX_PASSES]


_INDEX_PASSES: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("--index-sanity-check",), (".index", ".timeindex")),
    (("--verify-index-only",), (".index", ".timeindex")),
    ((), (".index", ".timeindex", ".snapshot", ".txnindex")),
]


def _dump(files: list[str], options: tuple[str, ...], tools: ToolJvm, partition: str) -> str:
    done = tools.run("DumpLogSegments", "--files", ",".join(files), *options, timeout=100)
    complaints = [line for line in _plain(done.stdout) if _COMPLAINTS.search(line)]
    may_have_gaps = "compacted" in partition or "__consumer_offsets" in partition
    complaints += [line for line in done.stderr.splitlines() if not _is_usual(line, may_have_gaps)]
    assert complaints == [], (partition, options, complaints[:5])
    return done.stdout


def _is_usual(line: str, may_have_gaps: bool) -> bool:
    """The tool takes every segment's first offset for a gap after -1, and says so."""
    if line.startswith("Non-consecutive offsets in "):
        return True
    return " is followed by " in line and (may_have_gaps or line.startswith("  -1 "))


def _plain(output: str) -> list[str]:
    """The tool's own words, without keys and payloads, which may contain anything."""
    return [line.partition(" key: ")[0].partition(" payload: ")[0] for line in output.splitlines()]
