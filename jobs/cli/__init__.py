"""The commands `python -m jobs run` and `replay`."""
