"""Subscriptions: a query's results by cursor, each once."""
