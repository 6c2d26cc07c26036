"""What a span must have answered: at once, when due, or as changes."""
