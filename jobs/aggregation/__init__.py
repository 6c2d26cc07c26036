"""Groups: states of aggregates, merged until their bucket is over, or for ever."""
