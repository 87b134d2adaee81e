"""Log managers on real directories, for tests that start and stop them."""

from collections.abc import Mapping
from pathlib import Path

from headrace.base.uuids import random_uuid
from headrace.log.config import LogConfig
from headrace.log.directory_identity import open_directories
from headrace.log.log_maintenance import LogMaintenance
from headrace.log.log_manager import LogManager
from headrace.log.log_registry import LogManagerConfig
from headrace.log.meta_properties import MetaProperties, write_meta_properties
from headrace.log.open_files import OpenFiles
from headrace.log.partition_log import PartitionLog
from headrace.log.recovery_tasks import RecoveryRunner, run_recoveries
from tests.unit.log.samples import NOW

NODE_ID = 1
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


def format_directories(*paths: Path) -> list[str]:
    for path in paths:
        path.mkdir(parents=True, exist_ok=True)
        properties = MetaProperties(CLUSTER_ID, NODE_ID, random_uuid())
        write_meta_properties(str(path), properties, "today")
    return [str(path) for path in paths]


def start(
    paths: list[str],
    *,
    configs: Mapping[str, LogConfig] | None = None,
    config: LogManagerConfig | None = None,
    now_ms: int = NOW,
    recover: RecoveryRunner = run_recoveries,
) -> LogManager:
    """Open the directories and load what is in them."""
    known = configs or {}
    manager = LogManager(
        open_directories(paths, node_id=NODE_ID),
        config_for=lambda topic: known.get(topic, LogConfig()),
        files=OpenFiles(16),
        config=config,
    )
    manager.load(now_ms, recover)
    return manager


def stop(manager: LogManager, broker_epoch: int = 7) -> None:
    """A clean stop."""
    LogMaintenance(manager).close(broker_epoch, end_offset)


def kill(manager: LogManager) -> None:
    """A hard kill, as far as files and locks show it."""
    for log in manager.logs.values():
        log.close(clean=False)
    for directory in manager.directories:
        directory.close()


def end_offset(log: PartitionLog) -> int:
    """The high watermark of a partition without followers."""
    return log.log_end_offset
