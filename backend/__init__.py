"""The Django project: streams, queries, topologies, live events, accounts, client."""
