"""Headrace: event streaming in Python, with Kafka's protocol and Kafka's log."""

__version__ = "0.1.0"
