"""What the state of deployed queries was forecast to be, and what it came to."""
