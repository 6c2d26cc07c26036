"""How soon a topology answers after its start, and after it was killed."""
