"""Apache Kafka's DumpLogSegments on every file of a data directory."""

import re
from pathlib import Path

from tests.support.tool_jvm import ToolJvm

_METADATA = "__cluster_metadata-0"
#: What the tool prints when it does not like a file; it does not always say so by its exit code.
_COMPLAINTS = re.compile(
    r"isvalid: false|^Found |^Mismatches in|^Non-secutive|^Non-consecutive|Could not decode"
    r"|[Cc]orrupt|Exception|[Ee]rror",
    re.MULTILINE,
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
    assert done.stderr == "", (partition, options, done.stderr)
    about_gaps = "Non-secutive offsets" if "compacted" in partition else None
    complaints = [
        line
        for line in _plain(done.stdout)
        if _COMPLAINTS.search(line) and not (about_gaps and about_gaps in line)
    ]
    assert complaints == [], (partition, options, complaints[:5])
    return done.stdout


def _plain(output: str) -> list[str]:
    """The tool's own words, without keys and payloads, which may contain anything."""
    return [line.partition(" key: ")[0].partition(" payload: ")[0] for line in output.splitlines()]
