"""Spark, set up for short stages."""
