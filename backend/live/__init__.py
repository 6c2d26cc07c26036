"""The live read model of topologies: events, results, snapshots, SSE.

Folds a topology's events and writes nothing.
"""
