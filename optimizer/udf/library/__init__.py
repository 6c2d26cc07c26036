"""Functions that ship, as examples and for use: nothing of them can be called unless a file allows it."""
