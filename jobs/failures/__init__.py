"""What is told of tuples and tasks that fail, and the search for the tuples that fail."""
