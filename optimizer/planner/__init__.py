"""The planner: queries, catalog and statistics to a plan, on top of the plan in use."""
