"""Fast methods: flat, individual and greedy plans, and local search on any plan."""
