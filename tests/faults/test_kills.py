"""Hundreds of kills; `FAULT_SEEDS=7 make faults` runs one seed again."""

from pathlib import Path

import pytest

from tests.support import group_kill_rounds
from tests.support.dump import dump_directory
from tests.support.group_kill_rounds import GroupKillRounds
from tests.support.headrace_node import HeadraceNode
from tests.support.kill_rounds import SETTINGS, KillRounds
from tests.support.tool_jvm import ToolJvm

_ROUNDS = 60


@pytest.mark.timeout(900)
def test_kills_lose_nothing(seed: int, tmp_path: Path, tools: ToolJvm) -> None:
    with HeadraceNode(tmp_path / "data", settings=SETTINGS) as node:
        rounds = KillRounds(node, seed)
        rounds.run(_ROUNDS)
        rounds.check()
    dump_directory(node.directory, tools)


@pytest.mark.timeout(900)
def test_kills_lose_no_offset_and_tear_no_transaction(
    seed: int, tmp_path: Path, tools: ToolJvm
) -> None:
    with HeadraceNode(tmp_path / "data", settings=group_kill_rounds.SETTINGS) as node:
        rounds = GroupKillRounds(node, seed)
        rounds.run(_ROUNDS)
        rounds.check()
    dump_directory(node.directory, tools)
