"""Which task keeps a tuple, and which tasks a probe asks."""
