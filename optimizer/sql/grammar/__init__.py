"""SQL text to a syntax tree whose every node knows its place."""
