"""The REST API of `planning`."""
