"""The live read model of topologies: events, results, snapshots, SSE.

It folds a topology's events and writes nothing.
"""
