"""Kafka topics as sinks."""
