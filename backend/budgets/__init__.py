"""What teams may spend in a month: counted as they use it, warned of, and held to."""
