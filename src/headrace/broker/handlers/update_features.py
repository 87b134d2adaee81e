"""UpdateFeatures: raises or lowers feature levels of the cluster, all or none (KIP-584)."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.context import RequestContext
from headrace.broker.controller_gate import Controller, ask
from headrace.broker.parked import Parked
from headrace.metadata.controller.features import FeatureUpdate, UpgradeType, update_features
from headrace.metadata.controller.settings import ControllerSettings
from headrace.protocol.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_RESULTS_UNTIL = 1
_ALL_FAILED = "The update failed for all features since the following feature had an error"


class UpdateFeaturesHandler:
    """Serves API key 57."""

    def __init__(self, controller: Controller, settings: ControllerSettings, node_id: int) -> None:
        self._controller = controller
        self._settings = settings
        self._node_id = node_id

    def __call__(
        self, context: RequestContext, request: UpdateFeaturesRequest
    ) -> UpdateFeaturesResponse | Parked:
        updates: dict[str, FeatureUpdate] = {}
        for update in request.feature_updates:
            if update.feature in updates:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, f"Feature {update.feature} is named twice."
                )
            kind = update.upgrade_type
            if context.api_version == 0:
                kind = UpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else UpgradeType.UPGRADE
            updates[update.feature] = FeatureUpdate(update.max_version_level, kind)

        def answer(_: None) -> UpdateFeaturesResponse:
            results = [UpdatableFeatureResult(feature=name) for name in updates]
            return UpdateFeaturesResponse(
                results=results if context.api_version <= _RESULTS_UNTIL else []
            )

        def refuse(error: KafkaError) -> UpdateFeaturesResponse:
            message = error.message
            if error.code == ErrorCode.INVALID_UPDATE_VERSION:
                # One bad feature fails them all, and the answer says so.
                message = f"{_ALL_FAILED}: {message}"
            return UpdateFeaturesResponse(error_code=int(error.code), error_message=message)

        return ask(
            self._controller,
            lambda image: update_features(
                image,
                self._settings,
                updates,
                node_id=self._node_id,
                validate_only=request.validate_only,
            ),
            answer,
            refuse,
        )
