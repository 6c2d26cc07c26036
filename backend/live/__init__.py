"""What a topology does right now: the fold of its events, snapshots and server-sent events."""
