"""The API of directories."""
