"""The REST API of `oracle`."""
