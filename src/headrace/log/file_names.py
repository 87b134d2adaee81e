"""How Kafka names the files of a partition: a 20-digit base offset, then what the file holds."""

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"

#: The files of one segment, in the order in which they are created and renamed.
SEGMENT_KINDS = (LOG, OFFSET_INDEX, TIME_INDEX, TXN_INDEX)

DELETED = ".deleted"  # renamed away, to be removed after file.delete.delay.ms
CLEANED = ".cleaned"  # being written by compaction
SWAP = ".swap"  # written by compaction, about to replace the segments it was made from

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"

_DIGITS = 20


def file_name(offset: int, kind: str, suffix: str = "") -> str:
    """For instance `00000000000000000042.log`."""
    return f"{offset:020d}{kind}{suffix}"


def offset_of(name: str) -> int | None:
    """The offset in a file's name, or None if it has none."""
    digits = name[:_DIGITS]
    if len(name) > _DIGITS and name[_DIGITS] == "." and digits.isascii() and digits.isdigit():
        return int(digits)
    return None


def kind_of(name: str) -> str:
    """The part of a file's name behind the offset, for instance `.log` or `.index.swap`."""
    return name[_DIGITS:]


def offsets_of_kind(names: list[str], kind: str) -> list[int]:
    """The offsets of all files of one kind among `names`, in order."""
    return sorted(
        int(name[:_DIGITS])
        for name in names
        if name.endswith(kind) and kind_of(name) == kind and offset_of(name) is not None
    )
