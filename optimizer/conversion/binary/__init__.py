"""Plans of binary joins, as SQL nests them: read, placed and written."""
