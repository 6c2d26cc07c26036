"""Sources of tuples: files, Redis Streams, Kafka topics and a generator.

A source hands Spark *descriptors* only: a stream and a range of rows or entry ids. The Python
stage that ingests a batch reads the described tuples itself, columns straight into Arrow.
"""
