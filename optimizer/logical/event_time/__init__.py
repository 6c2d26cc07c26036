"""Bounds on differences of event times, and the conditions that say them."""
