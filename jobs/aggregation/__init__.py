"""Groups of event-time buckets: states of aggregates, merged until all is final."""
