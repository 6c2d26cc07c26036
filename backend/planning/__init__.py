"""Plans of topologies, costs of drafts, and re-optimization.

Measurements of a job start planning again.
"""
