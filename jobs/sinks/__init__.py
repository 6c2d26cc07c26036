"""Sinks for results: Parquet files, Redis tails for pages, Kafka topics.

The newest results always go to Redis, for pages that watch; files and topics get all, if wanted.
"""
