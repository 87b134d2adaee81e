"""`headrace dump-log` on files made here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.cli.main import main
from headrace.metadata.record_codec import encode_record
from headrace.metadata.records import FeatureLevelRecord, RegisterBrokerRecord
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.control import EndTxnMarker, end_txn_batch
from headrace.records.record import Record


def segment(tmp_path: Path, *batches: bytes | bytearray, tail: bytes = b"") -> Path:
    path = tmp_path / "00000000000000000005.log"
    path.write_bytes(b"".join(batches) + tail)
    return path


def dump(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, list[str], str]:
    code = main(["dump-log", *map(str, args)])
    captured = capsys.readouterr()
    return code, captured.out.splitlines(), captured.err


def plain(base: int, count: int = 2, codec: int = Codec.NONE) -> bytearray:
    rows = [Record(base + n, 1000 + n, b"k%d" % n, b"v%d" % n, [("h", b"x")]) for n in range(count)]
    return build_batch(rows, base_offset=base, codec=codec, leader_epoch=4)


def test_batches_and_records_as_kafka_prints_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = segment(tmp_path, plain(5, codec=Codec.GZIP))
    code, lines, _ = dump(capsys, "--print-data-log", "--files", path)
    assert code == 0
    assert lines[:2] == [f"Dumping {path}", "Log starting offset: 5"]
    assert lines[2].startswith(
        "baseOffset: 5 lastOffset: 6 count: 2 baseSequence: -1 lastSequence: -1 producerId: -1"
        " producerEpoch: -1 partitionLeaderEpoch: 4 isTransactional: false isControl: false"
        " deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 1001 size: "
    )
    assert "magic: 2 compresscodec: gzip crc: " in lines[2]
    assert lines[2].endswith("isvalid: true")
    assert lines[3] == (
        "| offset: 5 CreateTime: 1000 keySize: 2 valueSize: 2 sequence: -1 headerKeys: [h]"
        " key: k0 payload: v0"
    )


def test_only_batches_without_deep_iteration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, lines, _ = dump(capsys, "--files", segment(tmp_path, plain(5), plain(7)))
    assert len(lines) == 4


def test_markers_and_skipped_metadata(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marker = end_txn_batch(
        EndTxnMarker(False, 3), producer_id=9, producer_epoch=1, timestamp=5, base_offset=7
    )
    path = segment(tmp_path, plain(5), marker)
    _, lines, _ = dump(capsys, "--deep-iteration", "--files", path)
    assert lines[-1].endswith("endTxnMarker: ABORT coordinatorEpoch: 3")
    _, lines, _ = dump(capsys, "--print-data-log", "--skip-record-metadata", "--files", path)
    assert lines[3:5] == ["| key: k0 payload: v0", "| key: k1 payload: v1"]
    assert lines[-1] == ""


def test_damage_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = plain(7)
    bad[-1] ^= 1
    code, lines, error = dump(
        capsys, "--deep-iteration", "--files", segment(tmp_path, plain(5), bad, tail=b"torn")
    )
    assert code == 1
    assert any(line.endswith("isvalid: false") for line in lines)
    assert lines[-1] == "Found 4 invalid bytes at the end of 00000000000000000005.log"
    assert "Traceback" not in error


def test_gaps_are_told_but_are_no_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = segment(tmp_path, plain(5), plain(20))
    code, _, error = dump(capsys, "--deep-iteration", "--files", path)
    assert code == 0
    assert "  6 is followed by 20" in error


def test_metadata_records_are_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = [
        encode_record(FeatureLevelRecord(name="metadata.version", feature_level=30)),
        encode_record(RegisterBrokerRecord(broker_id=1, broker_epoch=13)),
        b"\x01\x7f\x00",
    ]
    rows = [Record(5 + n, 0, None, value) for n, value in enumerate(values)]
    path = segment(tmp_path, build_batch(rows, base_offset=5))
    _, lines, _ = dump(
        capsys, "--cluster-metadata-decoder", "--skip-record-metadata", "--files", path
    )
    assert lines[3] == (
        '| payload: {"type":"FEATURE_LEVEL_RECORD","version":0,'
        '"data":{"name":"metadata.version","featureLevel":30}}'
    )
    assert lines[4].startswith('| payload: {"type":"REGISTER_BROKER_RECORD","version":4,')
    assert '"incarnationId":"AAAAAAAAAAAAAAAAAAAAAA"' in lines[4]
    assert "skipping" in lines[5]


def test_json_is_an_object_for_each_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marker = end_txn_batch(
        EndTxnMarker(True, 3), producer_id=9, producer_epoch=1, timestamp=5, base_offset=6
    )
    path = segment(tmp_path, plain(5, 1), marker)
    args = ("--print-data-log", "--files", path)
    _, lines, _ = dump(capsys, *args)
    code, printed, _ = dump(capsys, *args, "-o", "json")
    assert code == 0
    assert len(printed) == len(lines)
    file, note, batch, record, control, commit = map(json.loads, printed)
    assert file == {"kind": "file", "path": str(path)}
    assert note == {"kind": "note", "text": "Log starting offset: 5"}
    assert (batch["kind"], batch["baseOffset"], batch["isTransactional"]) == ("batch", 5, False)
    assert batch["deleteHorizonMs"] is None
    assert record == {
        "kind": "record",
        "offset": 5,
        "CreateTime": 1000,
        "keySize": 2,
        "valueSize": 2,
        "sequence": -1,
        "headerKeys": ["h"],
        "key": "k0",
        "payload": "v0",
    }
    assert control["isControl"]
    assert (commit["endTxnMarker"], commit["coordinatorEpoch"]) == ("COMMIT", 3)


def test_json_has_decoded_records_as_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = encode_record(FeatureLevelRecord(name="metadata.version", feature_level=30))
    path = segment(tmp_path, build_batch([Record(5, 0, None, value)], base_offset=5))
    _, lines, _ = dump(capsys, "--cluster-metadata-decoder", "--files", path, "-o", "json")
    assert json.loads(lines[-1])["payload"] == {
        "type": "FEATURE_LEVEL_RECORD",
        "version": 0,
        "data": {"name": "metadata.version", "featureLevel": 30},
    }


def test_files_that_are_none_of_kafkas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello")
    code, _, error = dump(capsys, "--files", other)
    assert code == 0
    assert error == f"Ignoring unknown file {other}\n"
    code, _, error = dump(capsys, "--files", tmp_path / "nope.log")
    assert code == 1
    assert "does not exist" in error


def test_an_index_is_compared_with_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = plain(5), plain(7)
    path = segment(tmp_path, first, second)
    index = path.with_suffix(".index")
    good = (1).to_bytes(4, "big") + (0).to_bytes(4, "big")
    good += (3).to_bytes(4, "big") + len(first).to_bytes(4, "big")
    index.write_bytes(good + bytes(80))  # Kafka preallocates zeros behind the entries
    code, lines, _ = dump(capsys, "--files", index)
    assert code == 0
    assert lines[1:] == ["offset: 6 position: 0", f"offset: 8 position: {len(first)}"]
    code, lines, _ = dump(capsys, "--index-sanity-check", "--files", index)
    assert (code, lines[1]) == (0, f"{index} passed sanity check.")
    index.write_bytes((2).to_bytes(4, "big") + (0).to_bytes(4, "big"))
    code, _, error = dump(capsys, "--verify-index-only", "--files", index)
    assert code == 1
    assert "  Index offset: 7, log offset: 6" in error


def test_a_time_index_is_compared_with_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = segment(tmp_path, plain(5))
    path.with_suffix(".index").write_bytes(b"")
    times = path.with_suffix(".timeindex")
    times.write_bytes((1001).to_bytes(8, "big") + (1).to_bytes(4, "big"))
    code, lines, _ = dump(capsys, "--files", times)
    assert (code, lines[1:]) == (0, ["timestamp: 1001 offset: 6"])
    times.write_bytes((999).to_bytes(8, "big") + (1).to_bytes(4, "big"))
    code, _, error = dump(capsys, "--files", times)
    assert code == 1
    assert "  Index timestamp: 999, log timestamp: 1001" in error
