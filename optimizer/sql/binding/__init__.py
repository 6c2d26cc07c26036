"""A syntax tree to a `Query`: names looked up, types found, constants computed."""
