"""Fast methods: flat, individual and greedy plans, and local search.

Local search improves any plan.
"""
