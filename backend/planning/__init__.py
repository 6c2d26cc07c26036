"""Plans of topologies, costs of drafts, and re-optimization.

A job's measurements start planning again.
"""
