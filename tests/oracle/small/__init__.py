"""Small random workloads without Spark, against DuckDB: `python -m tests.oracle --in-process`.

A seed gives streams of some ten tuples with values from the ends of every type, a few queries whose
predicates and outputs are random typed expressions, and two ways of answering them (method, tasks, layout,
memory limit, batches), and then three times other tuples and batches for the same plans. Both must give
DuckDB's results, bit by bit.
"""
