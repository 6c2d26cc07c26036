"""What people want of queries and topologies: deployment, placement, tasks, memory."""
