"""A group as it was when somebody asked for it, with its members still to be written out.

A group may have 10,000 members, and others shall not wait until all of them are described. So the
coordinator only takes note of them; whoever answers has them described at its own pace, while the
group goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Description(NamedTuple):
    """`members` are described as they are taken; each one belongs into `group.members`."""

    #: `DescribedGroup` of DescribeGroups or ConsumerGroupDescribe.
    group: Any
    member_count: int = 0
    members: Iterator[Any] = iter(())
    #: Which topics the members' assignments name.
    topics: frozenset[str] = frozenset()

    def steps(self) -> Iterator[None]:
        """Write out the members, one with each step."""
        for member in self.members:
            self.group.members.append(member)
            yield

    def whole(self) -> Any:
        """The group with all its members, at once."""
        self.group.members.extend(self.members)
        return self.group
