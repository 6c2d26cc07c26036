"""The REST API of `applied`."""
