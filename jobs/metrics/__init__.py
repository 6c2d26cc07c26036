"""What a batch did, as its tasks report it."""
