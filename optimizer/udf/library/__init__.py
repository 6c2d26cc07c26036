"""Functions that ship, as examples and for use.

Nothing of them can be called unless a file allows it.
"""
