"""Results to a URL, each batch in signed requests."""
