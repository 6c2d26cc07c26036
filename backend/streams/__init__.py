"""The registry of streams, their samples and the ingest endpoint."""
