"""What a topology does now, read only: the fold of its events, results, snapshots, server-sent events."""
