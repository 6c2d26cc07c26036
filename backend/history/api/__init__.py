"""The REST API of `history`."""
