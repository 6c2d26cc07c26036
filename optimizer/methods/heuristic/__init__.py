"""Plans at once: flat, individual and greedy, and local search that improves any plan."""
