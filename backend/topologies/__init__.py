"""Topologies: plans, runs of the streaming job and their supervision."""
