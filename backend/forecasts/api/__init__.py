"""The REST API of `forecasts`."""
