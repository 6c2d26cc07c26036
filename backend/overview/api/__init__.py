"""The REST API of `overview`."""
