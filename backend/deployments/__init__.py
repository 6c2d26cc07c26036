"""Deployment, placement, parallelism and memory, as users want them."""
