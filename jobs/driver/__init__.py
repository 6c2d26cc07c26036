"""The driver's side of a batch."""
