"""What queries, streams and teams cost, as measured: cores, memory and money."""
