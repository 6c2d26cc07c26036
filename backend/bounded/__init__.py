"""Bounded work for users, in processes of its own.

What they ask for may be hard: it is bounded, takes its turn, and ends with its request.
"""
