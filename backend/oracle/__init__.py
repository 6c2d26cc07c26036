"""The continuous oracle: compare published results with a batch join.

Joined is what the running queries read.
"""
