"""Topologies as stored: queries, plans, runs, switches, states."""
