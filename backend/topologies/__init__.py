"""Topologies as they are stored: queries, plans, runs, switches, the audit trail; and their states."""
