"""The REST API of `catalog`."""
