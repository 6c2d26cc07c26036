"""The REST API of `topologies`."""
