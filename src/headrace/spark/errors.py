"""What a user of the Spark side did wrong, or met, in one sentence."""

from __future__ import annotations


class PipelineError(Exception):
    """The base of what the Spark side raises on purpose; its text is for people."""


class OptionError(PipelineError, ValueError):
    """An option that cannot be right."""


class DataLossError(PipelineError):
    """Records that a query should read are not there any more."""
