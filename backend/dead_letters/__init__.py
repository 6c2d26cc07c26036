"""Dead letters: tuples that topologies turned away, why, and sending them again."""
