"""Plans of binary joins to plans of multi-way joins."""
