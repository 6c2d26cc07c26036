"""Plan queries over a catalog and statistics, on top of the plan in use."""
