"""The REST API of `live`."""
