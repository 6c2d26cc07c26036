"""Typed expressions: types, functions, canonical form, SQL text, errors.

Identifiers and digests are here too.
"""
