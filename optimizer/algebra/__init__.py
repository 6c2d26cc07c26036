"""Typed expressions: types, functions, identifiers, one canonical form, text, digests and errors."""
