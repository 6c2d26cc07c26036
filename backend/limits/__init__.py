"""What one query may cost, as estimated and as observed, and taking out what costs more."""
