"""The metadata image, in the shape in which group coordinators look at topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.groups.topics import TopicView
from headrace.metadata.image import MetadataImage, TopicImage


class ImageTopics:
    """Implements `headrace.groups.topics.Topics`."""

    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        self._image = image

    @property
    def version(self) -> int:
        return self._image().offset

    def named(self, name: str) -> TopicView | None:
        return _view(self._image().topics_by_name.get(name))

    def identified(self, topic_id: bytes) -> TopicView | None:
        return _view(self._image().topics_by_id.get(topic_id))

    def names(self) -> Iterable[str]:
        return self._image().topics_by_name

    def racks(self, name: str) -> list[list[str]]:
        image = self._image()
        topic = image.topics_by_name.get(name)
        if topic is None:
            return []
        rack_of = {broker.broker_id: broker.rack for broker in image.brokers.values()}
        return [
            [rack for replica in one.replicas if (rack := rack_of.get(replica)) is not None]
            for one in topic.partitions
        ]


def _view(topic: TopicImage | None) -> TopicView | None:
    if topic is None:
        return None
    return TopicView(topic.name, topic.topic_id, len(topic.partitions))
