"""All topologies at a glance: rates, newest results, what was turned away."""
