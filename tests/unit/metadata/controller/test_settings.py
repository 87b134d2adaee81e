"""What the controller takes from the settings of a topic, and of those above it."""

import pytest

from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.image import ConfigKey, ConfigResource, MetadataImage

ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
TOPIC: ConfigKey = (ConfigResource.TOPIC, "a")
NODE: ConfigKey = (ConfigResource.BROKER, "1")
ALL: ConfigKey = (ConfigResource.BROKER, "")


def in_force(layers: dict[ConfigKey, str]) -> tuple[int, bool]:
    """With these as least replicas, and unclean elections wherever they are odd."""
    image = MetadataImage(
        configs={
            key: {ISR: text, UNCLEAN: {"2": "FALSE", "3": " True "}.get(text, text)}
            for key, text in layers.items()
        }
    )
    settings = ControllerSettings(node_id=1, min_insync_replicas=1, unclean_leader_election=True)
    return settings.effective_min_isr(image, "a", 9), settings.allows_unclean_election(image, "a")


def test_a_topic_goes_before_this_node_and_that_before_all_and_the_file_comes_last() -> None:
    assert in_force({}) == (1, True)
    assert in_force({ALL: "2"}) == (2, False)
    assert in_force({ALL: "2", NODE: "3"}) == (3, True)
    assert in_force({ALL: "3", NODE: "3", TOPIC: "2"}) == (2, False)


@pytest.mark.parametrize("text", ["", "NaN", "0x2", "yes"])
def test_a_value_that_cannot_be_read_leaves_it_to_the_next(text: str) -> None:
    assert in_force({TOPIC: text}) == (1, True)
    assert in_force({TOPIC: text, NODE: text, ALL: "2"}) == (2, False)


def test_no_more_replicas_are_asked_for_than_there_are() -> None:
    image = MetadataImage(configs={TOPIC: {ISR: "3"}})
    assert ControllerSettings().effective_min_isr(image, "a", 2) == 2
