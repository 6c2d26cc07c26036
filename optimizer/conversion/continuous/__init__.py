"""A batch query's text as one query over streams."""
