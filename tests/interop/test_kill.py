"""kill -9 at random moments under load: what was acknowledged is there, once, in order."""

from pathlib import Path

import pytest

from tests.support import group_kill_rounds
from tests.support.dump import dump_directory
from tests.support.group_kill_rounds import GroupKillRounds
from tests.support.headrace_node import HeadraceNode
from tests.support.kill_rounds import SETTINGS, KillRounds
from tests.support.tool_jvm import ToolJvm

pytestmark = pytest.mark.no_second_chance

_SEED = 20_261


@pytest.mark.timeout(300)
def test_thirty_kills_lose_nothing_and_leave_files_that_apache_reads(
    tmp_path: Path, tools: ToolJvm
) -> None:
    with HeadraceNode(tmp_path / "data", settings=SETTINGS) as node:
        rounds = KillRounds(node, _SEED)
        rounds.run(32)
        rounds.check()
    dump_directory(node.directory, tools)


@pytest.mark.timeout(300)
def test_kills_in_the_middle_of_commits_lose_no_offset_and_tear_no_transaction(
    tmp_path: Path, tools: ToolJvm
) -> None:
    with HeadraceNode(tmp_path / "data", settings=group_kill_rounds.SETTINGS) as node:
        rounds = GroupKillRounds(node, _SEED)
        rounds.run(16)
        rounds.check()
    dump_directory(node.directory, tools)
