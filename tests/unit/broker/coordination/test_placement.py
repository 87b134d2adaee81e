"""Where a key belongs: as Kafka answers, whatever the key."""

import pytest

from headrace.broker.coordination.placement import partition_for


@pytest.mark.parametrize(
    ("key", "partition"),
    [
        ("", 0),
        ("test-group", 12),
        ("my-group", 12),  # its hash is negative
        ("orders", 31),  # as this one's
        ("polygenelubricants", 0),  # the lowest number of all
        ("\U0001f600", 49),  # two units of UTF-16
    ],
)
def test_a_key_belongs_where_javas_hash_puts_it(key: str, partition: int) -> None:
    assert partition_for(key, 50) == partition
