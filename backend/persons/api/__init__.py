"""The REST API of `persons`."""
