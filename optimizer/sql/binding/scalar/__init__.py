"""Scalar expressions: syntax nodes to typed expressions."""
