"""One batch's work inside a task."""
