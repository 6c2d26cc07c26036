"""The vectorized local join."""
