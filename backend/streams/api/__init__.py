"""The REST API of `streams`."""
