"""What a decoder raises for bytes that are not the message they claim to be."""


class ProtocolError(Exception):
    """Malformed bytes; costs the sender its connection and nobody else anything."""
