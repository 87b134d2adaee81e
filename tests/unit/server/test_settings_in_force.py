"""Which settings hold for a node: all that are set, as long as it can run with them."""

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.effective import BrokerLayers
from headrace.base.settings.typed import Values
from headrace.metadata.image import ConfigResource, MetadataImage
from headrace.server import part_configs, settings_in_force
from headrace.server.config import NodeConfig
from headrace.server.settings_in_force import SettingsInForce, check_settings

PLAIN = NodeConfig.for_development("/data", 9092)


def having(**settings: str) -> MetadataImage:
    """The metadata when all brokers have these settings; underscores for dots."""
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return MetadataImage(configs={(ConfigResource.BROKER, ""): given})


@pytest.fixture
def no_seven(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part stumbles over a value that every rule takes."""
    really = part_configs.connection_limits

    def stumble(values: Values) -> object:
        if values["max.connections"] == 7:
            raise ValueError("seven is too odd")
        return really(values)

    monkeypatch.setattr(part_configs, "connection_limits", stumble)


@pytest.mark.usefixtures("no_seven")
def test_settings_of_which_a_part_cannot_be_made_are_told_in_one_sentence() -> None:
    check_settings(PLAIN, PLAIN.layers({"max.connections": "8"}))
    with pytest.raises(KafkaError, match=r"cannot run with these settings: .*seven") as refused:
        check_settings(PLAIN, PLAIN.layers({"max.connections": "7"}))
    assert refused.value.code is ErrorCode.INVALID_CONFIG


@pytest.mark.usefixtures("no_seven")
def test_the_file_alone_counts_if_no_part_can_be_made_of_the_rest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = SettingsInForce(PLAIN)
    assert settings.layers(having(max_connections="7")) == PLAIN.layers()
    assert "the dynamic settings of this broker are not applied" in caplog.text
    assert "seven is too odd" in caplog.text
    assert settings.values(having(max_connections="8"))["max.connections"] == 8


def test_settings_that_make_no_sense_are_complained_about_once_for_each_change(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = SettingsInForce(PLAIN)
    for zero, complaints in (("0", 1), ("+0", 2)):
        for _ in range(3):
            image = having(max_connections="3", max_connections_per_ip=zero)
            assert settings.values(image) == PLAIN.values
            assert settings.layers(image) == PLAIN.layers()
        assert len(caplog.records) == complaints


def test_settings_are_looked_at_again_only_when_they_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0

    def count(config: NodeConfig, layers: BrokerLayers) -> Values:
        nonlocal looks
        looks += 1
        return check_settings(config, layers)

    monkeypatch.setattr(settings_in_force, "check_settings", count)
    settings = SettingsInForce(PLAIN)
    image = having(max_connections="3")
    for _ in range(3):
        assert settings.values(image)["max.connections"] == 3
    assert looks == 1
    assert settings.values(MetadataImage()) == PLAIN.values
    assert looks == 2
