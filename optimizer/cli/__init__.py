"""The command `python -m optimizer`."""
