"""Log segments and snapshots for `headrace dump-log`: their batches, and the records in them."""

from __future__ import annotations

import argparse
import mmap
import os
import sys

from headrace.base.errors import KafkaError
from headrace.cli.dump_decoders import RecordDecoder
from headrace.cli.dump_lines import batch_fields, record_fields
from headrace.cli.dump_output import DumpOutput
from headrace.cli.failure import CommandFailedError
from headrace.records.batch import HEADER_SIZE, MAGIC_V2, BatchHeader
from headrace.records.checksum import crc32c
from headrace.records.legacy import check_message, iter_any_headers, read_message
from headrace.records.reader import read_checked_batch
from headrace.records.record import Record

_EVERYTHING = 2**31 - 1
_CHECKED_FROM = 21  # the CRC covers everything from the attributes on


def dump_log(
    path: str,
    decoder: RecordDecoder | None,
    args: argparse.Namespace,
    output: DumpOutput,
    *,
    deep: bool,
) -> bool:
    """Print a segment or a snapshot; True if a batch of it is not valid."""
    output.note(_first_line(path))
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            view = memoryview(mapped)
            try:
                return _dump_batches(path, view, decoder, args, output, deep=deep)
            finally:
                view.release()


def _first_line(path: str) -> str:
    name = os.path.basename(path)
    stem = name.partition(".")[0]
    if name == "bootstrap.checkpoint":
        return "KRaft bootstrap snapshot"
    offset, dash, epoch = stem.partition("-")
    if not offset.isdecimal() or (dash and not epoch.isdecimal()):
        raise CommandFailedError(f"The name of {path} does not begin with an offset.")
    if dash:
        return f"Snapshot end offset: {int(offset)}, epoch: {int(epoch)}"
    return f"Log starting offset: {int(offset)}"


def _dump_batches(
    path: str,
    view: memoryview,
    decoder: RecordDecoder | None,
    args: argparse.Namespace,
    output: DumpOutput,
    *,
    deep: bool,
) -> bool:
    end = min(len(view), args.max_bytes)
    valid_bytes = 0
    is_bad = False
    gaps: list[tuple[int, int]] = []
    last_offset = -1
    for position, header in iter_any_headers(view, 0, end):
        is_valid = _is_valid(view, position, header)
        is_bad = is_bad or not is_valid
        output.entry("batch", batch_fields(view, position, header, is_valid=is_valid))
        valid_bytes = position + header.size
        if not deep:
            continue
        for record in _records(view, position, header):
            if last_offset >= 0 and record.offset != last_offset + 1:
                gaps.append((last_offset, record.offset))
            last_offset = record.offset
            with_metadata = not args.skip_record_metadata
            fields = record_fields(header, record, decoder, with_metadata=with_metadata)
            output.entry("record", fields, prefix="| ")
    if end - valid_bytes > 0 and args.max_bytes == _EVERYTHING:
        name = os.path.basename(path)
        output.note(f"Found {end - valid_bytes} invalid bytes at the end of {name}")
    if gaps:
        print(f"Non-consecutive offsets in {os.path.abspath(path)}", file=sys.stderr)
        for first, second in gaps:
            print(f"  {first} is followed by {second}", file=sys.stderr)
    return is_bad


def _is_valid(view: memoryview, position: int, header: BatchHeader) -> bool:
    if header.magic == MAGIC_V2:
        if header.size < HEADER_SIZE:
            return False
        return crc32c(view[position + _CHECKED_FROM : position + header.size]) == header.crc
    try:
        check_message(view, position, header)
    except KafkaError:
        return False
    return True


def _records(view: memoryview, position: int, header: BatchHeader) -> list[Record]:
    try:
        if header.magic != MAGIC_V2:
            return read_message(view, position)
        return read_checked_batch(view, position, header)
    except KafkaError as error:
        print(f"The batch at {position} cannot be read: {error}", file=sys.stderr)
        return []
