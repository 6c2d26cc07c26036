"""The continuous oracle: what running queries published, compared with a batch join of what they read."""
