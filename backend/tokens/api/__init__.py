"""The REST API of `tokens`."""
