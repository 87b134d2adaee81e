"""The metadata plane on a real directory: durability, order, restarts, snapshots."""

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.base.checks import InvariantBrokenError
from headrace.base.clock import ManualClock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import parse_uuid
from headrace.log.errors import LogDirFailure
from headrace.log.open_files import OpenFiles
from headrace.metadata import records as r
from headrace.metadata.bootstrap import default_bootstrap_records, encode_bootstrap
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.controller.topics import create_topics
from headrace.metadata.image import EndpointImage, MetadataImage
from headrace.metadata.snapshot import (
    QuorumRecords,
    SnapshotId,
    parse_file_name,
    snapshot_batches,
)
from headrace.metadata.snapshot_policy import SnapshotPolicy
from headrace.protocol.messages.create_topics import CreatableTopic
from headrace.raft.voters import Voter, VoterSet
from headrace.records.control import ControlType, control_type
from headrace.records.reader import read_records
from headrace.server import metadata_flusher
from headrace.server.metadata_plane import Command, MetadataPlane
from headrace.server.metadata_start import (
    MetadataConfig,
    NodeRegistration,
    activate,
    open_metadata_plane,
)

DIRECTORY_ID = parse_uuid("WoOcHuLJNoWzA7R3WMY8kw")
APACHE_LOG = Path(__file__).parents[1] / "metadata" / "data" / "apache-4.3.1-metadata.log"
SETTINGS = ControllerSettings(cluster_id="c")


class Node:
    """One node that can be started again and again on its directory."""

    def __init__(self, directory: Path, policy: SnapshotPolicy | None = None) -> None:
        self.directory = directory
        self.clock = ManualClock()
        self.policy = policy or SnapshotPolicy()
        self.broker_epoch = -1
        self.starts = 0

    def start(self, *, previous_broker_epoch: int = -1, idle_interval_ms: int = 0) -> MetadataPlane:
        self.starts += 1
        config = MetadataConfig(
            node_id=1,
            data_directory=str(self.directory),
            voter_ids=(1,),
            snapshots=self.policy,
            idle_interval_ms=idle_interval_ms,
        )
        plane, loaded = open_metadata_plane(
            config, files=OpenFiles(8), clock=self.clock, clean=False
        )
        registration = NodeRegistration(
            incarnation_id=bytes([self.starts]) * 16,
            broker_endpoints=(EndpointImage("PLAINTEXT", "h", 9092, 0),),
            controller_endpoints=(EndpointImage("CONTROLLER", "h", 9093, 0),),
            directory_ids=(DIRECTORY_ID,),
            previous_broker_epoch=previous_broker_epoch,
        )
        self.broker_epoch = activate(plane, loaded, SETTINGS, registration)
        return plane

    @property
    def log_directory(self) -> Path:
        return self.directory / "__cluster_metadata-0"

    @property
    def snapshot_ids(self) -> list[SnapshotId]:
        found = map(parse_file_name, os.listdir(self.log_directory))
        return sorted(one for one in found if one is not None)

    def log_bytes(self) -> bytes:
        paths = sorted(self.log_directory.glob("*.log"))
        return b"".join(path.read_bytes() for path in paths)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    (tmp_path / "bootstrap.checkpoint").write_bytes(
        encode_bootstrap(default_bootstrap_records(), 1)
    )
    return Node(tmp_path)


def creating(name: str, partitions: int = 1) -> Command:
    def command(image: MetadataImage) -> ControllerResult[Any]:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        result = create_topics(image, SETTINGS, [topic])
        reply = result.reply[0]
        if reply.error_code:
            raise KafkaError(ErrorCode(reply.error_code), reply.error_message or "")
        return ControllerResult(reply.topic_id, result.records)

    return command


def test_an_empty_node_has_its_image_after_the_start(node: Node) -> None:
    plane = node.start()
    assert plane.image.metadata_version == 30
    assert plane.image.config(4, "") == {"min.insync.replicas": "1"}
    assert plane.image.brokers[1].epoch == node.broker_epoch == 11
    assert plane.image.brokers[1].is_active
    assert plane.image.controllers[1].endpoints[0].port == 9093
    assert plane.high_watermark == plane.log_end_offset == 14


def test_the_first_records_have_the_shape_that_apache_kafka_gives_them(node: Node) -> None:
    asyncio.run(_close(node.start()))
    theirs = {}
    for record in read_records(APACHE_LOG.read_bytes()):
        theirs[record.offset] = record.value
    ours = {record.offset: record.value for record in read_records(node.log_bytes())}
    # The leader change and the whole bootstrap transaction.
    for offset in range(10):
        assert ours[offset] == theirs[offset]


async def _close(plane: MetadataPlane) -> None:
    await plane.close()


def test_every_start_has_a_new_epoch_and_all_that_was_acknowledged(node: Node) -> None:
    async def one_life(number: int) -> None:
        plane = node.start()
        assert plane.epoch == number
        assert len(plane.image.topics_by_name) == number - 1
        await plane.run(creating(f"t{number}"))
        await plane.close()

    for number in range(1, 4):
        asyncio.run(one_life(number))
    state = (node.log_directory / "quorum-state").read_text()
    assert '"leaderEpoch":3' in state
    assert (node.log_directory / "leader-epoch-checkpoint").read_text().split()[1] == "3"


def test_a_crash_gives_partitions_a_new_leader_epoch_and_a_clean_stop_does_not(
    node: Node,
) -> None:
    async def create() -> None:
        plane = node.start()
        await plane.run(creating("a", 2))
        await plane.close()

    asyncio.run(create())

    def leader_epochs(plane: MetadataPlane) -> list[int]:
        return [one.leader_epoch for one in plane.image.topics_by_name["a"].partitions]

    plane = node.start(previous_broker_epoch=node.broker_epoch)
    assert leader_epochs(plane) == [0, 0]
    asyncio.run(_close(plane))
    plane = node.start(previous_broker_epoch=-1)
    assert leader_epochs(plane) == [1, 1]
    asyncio.run(_close(plane))


def test_a_reply_waits_for_the_disk(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    real = os.fdatasync

    def fdatasync(fd: int) -> None:
        synced.append(fd)
        real(fd)

    async def scenario() -> None:
        plane = node.start()
        monkeypatch.setattr(os, "fdatasync", fdatasync)
        replies: list[Any] = []
        plane.submit(creating("a"), replies.append)
        assert not replies
        assert "a" not in plane.image.topics_by_name
        assert "a" in plane.latest.topics_by_name
        await plane.run(creating("b"))
        assert len(replies) == 1
        assert synced
        assert "a" in plane.image.topics_by_name
        await plane.close()

    asyncio.run(scenario())


def test_commands_of_one_turn_share_one_flush(node: Node) -> None:
    async def scenario() -> None:
        plane = node.start()
        flushes = 0
        begin = plane._store.begin_flush

        def counted(now_ms: int) -> Any:
            nonlocal flushes
            flushes += 1
            return begin(now_ms)

        plane._store.begin_flush = counted  # type: ignore[method-assign]
        await asyncio.gather(*(plane.run(creating(f"t{n}")) for n in range(50)))
        assert flushes == 1
        assert len(plane.image.topics_by_name) == 50
        await plane.close()

    asyncio.run(scenario())


def test_a_command_sees_what_was_written_before_it_and_errors_keep_their_turn(
    node: Node,
) -> None:
    async def scenario() -> None:
        plane = node.start()
        replies: list[Any] = []
        plane.submit(creating("a"), replies.append)
        plane.submit(creating("a"), replies.append)
        plane.submit(creating("b"), replies.append)
        assert replies == []
        await plane.run(lambda image: ControllerResult(None))
        assert isinstance(replies[0], bytes)
        assert replies[1].code == ErrorCode.TOPIC_ALREADY_EXISTS
        assert isinstance(replies[2], bytes)
        await plane.close()

    asyncio.run(scenario())


def test_a_command_without_records_is_answered_at_once_when_nothing_waits(node: Node) -> None:
    async def scenario() -> None:
        plane = node.start()
        replies: list[Any] = []
        plane.submit(lambda image: ControllerResult(len(image.brokers)), replies.append)
        assert replies == [1]
        await plane.close()

    asyncio.run(scenario())


def test_listeners_hear_every_change_in_order_with_its_image(node: Node) -> None:
    async def scenario() -> None:
        plane = node.start()
        heard: list[tuple[list[str], int]] = []

        def listener(changes: MetadataChanges, image: MetadataImage) -> None:
            assert plane.image is image
            heard.append(
                ([topic.name for topic in changes.topics_created], len(image.topics_by_name))
            )

        plane.subscribe(listener)
        await asyncio.gather(plane.run(creating("a")), plane.run(creating("b")))
        assert heard == [(["a"], 1), (["b"], 2)]
        await plane.close()

    asyncio.run(scenario())


def test_what_was_submitted_before_the_close_is_still_done(node: Node) -> None:
    async def scenario() -> None:
        plane = node.start()
        replies: list[Any] = []
        plane.submit(creating("a"), replies.append)
        await plane.close()
        assert len(replies) == 1
        plane.submit(creating("b"), replies.append)
        assert replies[1].code == ErrorCode.NOT_CONTROLLER

    asyncio.run(scenario())
    plane = node.start()
    assert list(plane.image.topics_by_name) == ["a"]
    asyncio.run(_close(plane))


def test_a_failing_disk_fails_what_waits_and_tells_the_node(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(fd: int) -> None:
        raise OSError(5, "Input/output error")

    async def scenario() -> None:
        plane = node.start()
        failures: list[BaseException] = []
        plane.on_failure = failures.append
        monkeypatch.setattr(os, "fdatasync", broken)
        with pytest.raises(KafkaError) as raised:
            await plane.run(creating("a"))
        assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert len(failures) == 1
        assert plane.error_count == 1
        assert "a" not in plane.image.topics_by_name
        with pytest.raises(KafkaError):
            await plane.run(creating("b"))
        monkeypatch.undo()
        await plane.close()

    asyncio.run(scenario())


def test_a_full_disk_costs_the_command_that_met_it_and_no_other(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def scenario() -> None:
        plane = node.start()
        failures: list[BaseException] = []
        plane.on_failure = failures.append
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full)
            with pytest.raises(KafkaError) as raised:
                await plane.run(creating("a"))
        assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert failures == []
        await plane.run(creating("b"))
        assert list(plane.image.topics_by_name) == ["b"]
        await plane.close()

    asyncio.run(scenario())
    plane = node.start()
    assert list(plane.image.topics_by_name) == ["b"]
    asyncio.run(_close(plane))


def test_a_reply_that_its_receiver_cannot_take_concerns_nobody_else(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(reply: object) -> None:
        raise ValueError("a connection in a state that cannot be")

    async def scenario() -> None:
        plane = node.start()
        failures: list[BaseException] = []
        plane.on_failure = failures.append
        plane.submit(creating("a"), broken)
        await plane.run(creating("b"))
        assert failures == []
        assert list(plane.image.topics_by_name) == ["a", "b"]
        await plane.close()

    asyncio.run(scenario())
    assert "a connection in a state that cannot be" in caplog.text


def refusing_flushes(plane: MetadataPlane, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let the disk be full for every flush; returns what makes room again."""
    store = plane._store
    begin = store.begin_flush
    monkeypatch.setattr(metadata_flusher, "_RETRY_S", 0.001)

    def full(now_ms: int) -> Any:
        raise LogDirFailure(store.directory, "preparing a flush", OSError(errno.ENOSPC, "No room"))

    def make_room() -> None:
        monkeypatch.setattr(store, "begin_flush", begin)

    monkeypatch.setattr(store, "begin_flush", full)
    return make_room


def test_a_disk_without_room_for_a_flush_refuses_new_writes_and_keeps_the_old(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        plane = node.start()
        failures: list[BaseException] = []
        plane.on_failure = failures.append
        make_room = refusing_flushes(plane, monkeypatch)
        written = asyncio.create_task(plane.run(creating("a")))
        while plane._flusher.refusal is None:  # noqa: ASYNC110 - it sets no event
            await asyncio.sleep(0)
        for _ in range(3):
            with pytest.raises(KafkaError) as raised:
                await plane.run(creating("b"))
            assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR
            assert "No room" in raised.value.message
        assert not written.done()
        assert list(plane.image.topics_by_name) == []
        make_room()
        await written
        await plane.run(creating("c"))
        assert list(plane.image.topics_by_name) == ["a", "c"]
        assert failures == []
        await plane.close()

    asyncio.run(scenario())
    plane = node.start()
    assert list(plane.image.topics_by_name) == ["a", "c"]
    asyncio.run(_close(plane))


def test_a_node_whose_disk_stays_full_stops_all_the_same(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        plane = node.start()
        refusing_flushes(plane, monkeypatch)
        replies: list[Any] = []
        plane.submit(creating("a"), replies.append)
        while plane._flusher.refusal is None:  # noqa: ASYNC110 - it sets no event
            await asyncio.sleep(0)
        await plane.close()
        assert [reply.code for reply in replies] == [ErrorCode.NOT_CONTROLLER]

    asyncio.run(scenario())
    monkeypatch.undo()
    plane = node.start()
    assert plane.image.metadata_version == 30
    asyncio.run(_close(plane))


def test_a_listener_that_breaks_stops_the_plane(node: Node) -> None:
    async def scenario() -> None:
        plane = node.start()
        failed = asyncio.Event()
        plane.on_failure = lambda _: failed.set()

        def listener(changes: MetadataChanges, image: MetadataImage) -> None:
            raise InvariantBrokenError("a log that cannot be")

        plane.subscribe(listener)
        plane.submit(creating("a"), lambda _: None)
        replies: list[Any] = []
        plane.submit(creating("b"), replies.append)
        await failed.wait()
        assert replies[0].code == ErrorCode.KAFKA_STORAGE_ERROR
        await plane.close()

    asyncio.run(scenario())


def run_with_snapshots(node: Node, work: Callable[[MetadataPlane], Any]) -> None:
    async def scenario() -> None:
        plane = node.start()
        await work(plane)
        await plane.close()

    asyncio.run(scenario())


def test_snapshots_are_made_by_bytes_and_a_restart_uses_them(tmp_path: Path) -> None:
    node = Node(tmp_path, SnapshotPolicy(bytes_between_max=2000))

    async def work(plane: MetadataPlane) -> None:
        for number in range(40):
            await plane.run(creating(f"t{number}"))

    run_with_snapshots(node, work)
    assert len(node.snapshot_ids) >= 2
    plane = node.start(previous_broker_epoch=node.broker_epoch)
    assert len(plane.image.topics_by_name) == 40
    asyncio.run(_close(plane))


def test_old_snapshots_and_segments_go_and_nothing_is_lost(tmp_path: Path) -> None:
    policy = SnapshotPolicy(bytes_between_max=1000, retention_bytes=6000)
    node = Node(tmp_path, policy)

    async def work(plane: MetadataPlane) -> None:
        plane._store.log.config = type(plane._store.log.config)(segment_bytes=1500)
        for number in range(60):
            await plane.run(creating(f"t{number}"))

    run_with_snapshots(node, work)
    assert min(node.log_directory.glob("*.log")).name != "0" * 20 + ".log"
    plane = node.start()
    assert len(plane.image.topics_by_name) == 60
    assert plane.log_start_offset > 0
    asyncio.run(_close(plane))


def test_a_snapshot_is_made_by_time(node: Node) -> None:
    async def work(plane: MetadataPlane) -> None:
        await plane.run(creating("a"))
        node.clock.advance(3_600_000)
        assert plane.snapshots.latest_bytes == 0
        await plane.run(creating("b"))

    run_with_snapshots(node, work)
    assert len(node.snapshot_ids) == 1
    (written,) = node.log_directory.glob("*.checkpoint")
    node.clock.advance(1)
    plane = node.start()
    assert plane.snapshots.latest_bytes == written.stat().st_size
    assert plane.snapshots.latest_ms == node.clock.mono_ms()
    asyncio.run(_close(plane))


def test_leftovers_of_a_crash_in_a_snapshot_are_swept_away(node: Node) -> None:
    asyncio.run(_close(node.start()))
    partial = node.log_directory / "00000000000000000005-0000000001.checkpoint.part"
    partial.write_bytes(b"half")
    plane = node.start()
    assert not partial.exists()
    asyncio.run(_close(plane))


def test_a_torn_batch_at_the_end_is_cut_off(node: Node) -> None:
    asyncio.run(_close(node.start()))
    path = node.log_directory / ("0" * 20 + ".log")
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:50])
    plane = node.start()
    assert plane.image.brokers[1].is_active
    asyncio.run(_close(plane))
    offsets = [record.offset for record in read_records(path.read_bytes())]
    assert offsets == list(range(len(offsets)))


def test_a_leader_that_died_inside_the_bootstrap_is_survived(node: Node) -> None:
    plane = node.start()
    asyncio.run(_close(plane))
    path = node.log_directory / ("0" * 20 + ".log")
    data = path.read_bytes()
    # Only the leader change, then a transaction that never ended.
    path.write_bytes(data[:91])
    for name in ("index", "timeindex"):
        (node.log_directory / f"{'0' * 20}.{name}").write_bytes(b"")
    plane, _ = open_metadata_plane(
        MetadataConfig(1, str(node.directory), (1,)),
        files=OpenFiles(8),
        clock=node.clock,
        clean=False,
    )
    plane.become_leader()
    plane.write_now([r.BeginTransactionRecord(name="Bootstrap records")])
    plane.flush_now()
    plane._store.close(clean=False)
    plane = node.start()
    assert plane.image.metadata_version == 30
    assert plane.image.brokers[1].is_active
    assert plane.transaction is None
    asyncio.run(_close(plane))


def test_a_directory_of_apache_kafka_is_taken_over_with_everything_in_it(node: Node) -> None:
    node.log_directory.mkdir()
    (node.log_directory / ("0" * 20 + ".log")).write_bytes(APACHE_LOG.read_bytes())
    (node.log_directory / "partition.metadata").write_text(
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"
    )
    (node.log_directory / "leader-epoch-checkpoint").write_text("0\n1\n1 0\n")
    plane = node.start(previous_broker_epoch=12)
    partitions = plane.image.topics_by_name["t1"].partitions
    assert [(one.leader, one.isr, one.elr) for one in partitions] == [(1, (1,), ())] * 3
    assert plane.epoch == 2
    assert len(plane.image.acls) == len(plane.image.tokens) == len(plane.image.scram) == 1
    asyncio.run(_close(plane))


def test_a_dynamic_quorum_of_one_starts_from_what_storage_format_left(node: Node) -> None:
    voters = VoterSet.of([Voter(1, DIRECTORY_ID, (("CONTROLLER", "h", 9093),))])
    content = snapshot_batches(
        iter(()),
        epoch=0,
        metadata_version=30,
        last_contained_timestamp_ms=1,
        now_ms=1,
        quorum=QuorumRecords(1, voters),
    )
    node.log_directory.mkdir()
    first = node.log_directory / SnapshotId(0, 0).file_name
    first.write_bytes(b"".join(content))
    for life in (1, 2):
        plane = node.start()
        assert plane.raft.kraft_version == 1
        assert plane.raft.voters == voters
        assert plane.epoch == life
        asyncio.run(_close(plane))
    assert first.exists()
    assert '"data_version":1' in (node.log_directory / "quorum-state").read_text()
    kinds = [control_type(one) for one in read_records(node.log_bytes()) if one.key is not None]
    assert kinds == [
        ControlType.LEADER_CHANGE,
        ControlType.KRAFT_VERSION,
        ControlType.KRAFT_VOTERS,
        ControlType.LEADER_CHANGE,
    ]


def test_a_cluster_of_a_newer_version_is_refused_in_one_sentence(node: Node) -> None:
    plane = node.start()
    plane.write_now([r.FeatureLevelRecord(name="metadata.version", feature_level=31)])
    plane.flush_now()
    asyncio.run(_close(plane))
    with pytest.raises(InvariantBrokenError, match=r"metadata\.version at level 31"):
        node.start()


def test_a_node_that_is_alone_writes_no_idle_records(node: Node) -> None:
    async def scenario() -> None:
        plane = node.start(idle_interval_ms=1)
        plane.start_idle_records()
        assert not plane._idle.is_running
        await plane.close()

    asyncio.run(scenario())


def test_a_second_node_sets_the_idle_records_off(node: Node) -> None:
    async def scenario() -> None:
        plane = node.start(idle_interval_ms=1)
        second = r.RegisterControllerRecord(controller_id=2)
        await plane.run(lambda image: ControllerResult(None, [second]))
        written = asyncio.Event()
        plane.subscribe(lambda changes, image: written.set())
        await written.wait()
        await plane.close()

    asyncio.run(scenario())
    values = [record.value for record in read_records(node.log_bytes())]
    assert values[-1] == b"\x01\x14\x00\x00"
