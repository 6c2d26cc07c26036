"""Topologies as stored: queries, plans, runs, switches, audit trail, states."""
