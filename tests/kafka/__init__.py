"""Kafka, with a real broker: `make test-kafka`."""
