"""The REST API of `alerts`."""
