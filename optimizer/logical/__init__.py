"""What is asked: streams, queries, views and the catalog that they are read against."""
