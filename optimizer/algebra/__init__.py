"""Typed expressions: types, functions, normal form, SQL text, errors.

Identifiers and digests are here too.
"""
