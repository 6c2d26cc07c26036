"""Partial plans, copies of stores, assembly and checks.

Every method builds on them.
"""
