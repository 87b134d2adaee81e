"""`headrace dump-log`: Kafka's `kafka-dump-log.sh`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from headrace.cli.failure import CommandFailedError
from headrace.cli.output import add_output_argument, wants_json

if TYPE_CHECKING:
    from headrace.cli.dump_decoders import RecordDecoder
    from headrace.cli.dump_output import DumpOutput

_EVERYTHING = 2**31 - 1
_DECODERS = {
    "cluster-metadata-decoder": "the metadata log",
    "offsets-decoder": "__consumer_offsets",
    "transaction-log-decoder": "__transaction_state",
    "share-group-state-decoder": "__share_group_state (not supported yet)",
    "remote-log-metadata-decoder": "__remote_log_metadata (not supported yet)",
}
_STRING_DECODER = "org.apache.kafka.tools.api.StringDecoder"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_output_argument(parser)
    add = parser.add_argument
    add("--files", required=True, metavar="FILE,...", help="segments, indexes and snapshots")
    add("--print-data-log", action="store_true", help="print what the records say")
    add("--deep-iteration", action="store_true", help="print each record, not only batches")
    add("--index-sanity-check", action="store_true", help="only check what a broker checks")
    add("--verify-index-only", action="store_true", help="compare an index with its log, quietly")
    add("--max-message-size", type=int, default=5 * 1024 * 1024, metavar="N", help="accepted")
    add("--max-bytes", type=int, default=_EVERYTHING, metavar="N", help="read so much of a log")
    add("--skip-record-metadata", action="store_true", help="print only keys and payloads")
    for what in ("key", "value"):
        add(
            f"--{what}-decoder-class",
            nargs="?",
            const=_STRING_DECODER,
            metavar="CLASS",
            help=f"how to read a {what}: Kafka's StringDecoder, LongDecoder or IntegerDecoder",
        )
    for option, what in _DECODERS.items():
        add(f"--{option}", action="store_true", help=f"print records as those of {what}")


def run(args: argparse.Namespace) -> int:
    from headrace.cli.dump_output import DumpOutput

    decoder = make_decoder(args)
    output = DumpOutput(as_json=wants_json(args))
    problems = False
    for path in (part.strip() for part in args.files.split(",")):
        if not path:
            continue
        output.file(path)
        problems = _dump(path, args, decoder, output) or problems
    return 1 if problems else 0


def make_decoder(args: argparse.Namespace) -> RecordDecoder | None:
    """What prints the content of records, or None when it is not asked for."""
    from headrace.cli.dump_decoders import MetadataDecoder, PlainDecoder

    for option in ("share-group-state-decoder", "remote-log-metadata-decoder"):
        if getattr(args, option.replace("-", "_")):
            raise CommandFailedError(
                f"--{option} is not supported yet: print the raw records with --print-data-log,"
                " or use Apache Kafka's kafka-dump-log.sh on the same file."
            )
    if args.offsets_decoder or args.transaction_log_decoder:
        from headrace.cli.dump_coordinators import offsets_decoder, transactions_decoder

        return offsets_decoder() if args.offsets_decoder else transactions_decoder()
    if args.cluster_metadata_decoder:
        return MetadataDecoder()
    if args.print_data_log or args.key_decoder_class or args.value_decoder_class:
        return PlainDecoder(
            args.key_decoder_class or _STRING_DECODER, args.value_decoder_class or _STRING_DECODER
        )
    return None


def _dump(
    path: str, args: argparse.Namespace, decoder: RecordDecoder | None, output: DumpOutput
) -> bool:
    """Dump one file by its kind; True if it is not as it should be."""
    if not os.path.isfile(path):
        raise CommandFailedError(f"{path} does not exist or is not a file.")
    kind = os.path.splitext(path)[1]
    if kind in (".log", ".checkpoint"):
        from headrace.cli.dump_records import dump_log

        deep = args.deep_iteration or decoder is not None
        return dump_log(path, decoder if deep else None, args, output, deep=deep)
    if kind in (".index", ".timeindex", ".txnindex", ".snapshot"):
        from headrace.cli.dump_indexes import dump_index_file

        return dump_index_file(path, args, output)
    print(f"Ignoring unknown file {path}", file=sys.stderr)
    return False
