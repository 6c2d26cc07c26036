"""The REST API of `letters`."""
