"""Subscriptions: a query's results by cursor, each once, since any batch that is kept."""
