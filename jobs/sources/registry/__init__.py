"""Schemas of values, in the deployment's schema registry."""
