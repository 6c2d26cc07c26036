"""The demo: its streams, queries and flights, the feeder, and the command that sets it up."""
