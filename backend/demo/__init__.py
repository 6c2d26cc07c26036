"""The demo: its streams, queries and flights, its feeder and its setup."""
