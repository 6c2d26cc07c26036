"""Materialized trees of joins (dissertation chapter 5)."""
