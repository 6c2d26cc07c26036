"""The continuous oracle: compare published results with a batch join.

The join is of what the running queries read.
"""
