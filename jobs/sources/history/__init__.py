"""Files of a folder, and then a live source that goes on where they end."""
