"""Tokens: how programs say who they are."""
