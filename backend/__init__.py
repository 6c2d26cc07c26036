"""The Django project: streams, queries, topologies, live events, accounts.

The client is here too.
"""
