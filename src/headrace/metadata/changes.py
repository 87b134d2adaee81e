"""What a batch of metadata records changed, told to listeners beside the new image."""

from dataclasses import dataclass, field

from headrace.metadata.image import ConfigKey, QuotaEntity, TopicImage


@dataclass(frozen=True, slots=True)
class TopicChange:
    """One topic before and after; None where it does not exist."""

    before: TopicImage | None
    after: TopicImage | None
    #: The partitions that are new or different in `after`.
    partitions: tuple[int, ...]

    @property
    def topic(self) -> TopicImage:
        """The topic as it is, or as it was if it is gone."""
        topic = self.after or self.before
        assert topic is not None  # noqa: S101 - a change has at least one side
        return topic


@dataclass(slots=True)
class MetadataChanges:
    """Sets of keys into the old and the new image; a key may be new, different or gone."""

    #: By topic id, so a topic that was deleted and made again under its name appears twice,
    #: the deletion first.
    topics: dict[bytes, TopicChange] = field(default_factory=dict)
    brokers: set[int] = field(default_factory=set)
    controllers: set[int] = field(default_factory=set)
    configs: set[ConfigKey] = field(default_factory=set)
    quotas: set[QuotaEntity] = field(default_factory=set)
    features: set[str] = field(default_factory=set)
    acls: set[bytes] = field(default_factory=set)
    scram: set[tuple[str, int]] = field(default_factory=set)
    tokens: set[str] = field(default_factory=set)
    producer_ids: bool = False

    @property
    def topics_created(self) -> list[TopicImage]:
        return [c.after for c in self.topics.values() if c.before is None and c.after is not None]

    @property
    def topics_deleted(self) -> list[TopicImage]:
        return [c.before for c in self.topics.values() if c.after is None and c.before is not None]

    def __bool__(self) -> bool:
        return self.producer_ids or any(
            (
                self.topics,
                self.brokers,
                self.controllers,
                self.configs,
                self.quotas,
                self.features,
                self.acls,
                self.scram,
                self.tokens,
            )
        )
