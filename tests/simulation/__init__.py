"""A topology in one process, from a seed: its disk, clock, Redis, plans, tasks and deaths."""
