"""User functions that predicates may call.

An administrator declares them in a file, never in SQL.

    functions:
      similarity:
        call: optimizer.udf.library.text:similarity
        arguments: [string, string]
        returns: double
        cost_us: 0.3
        symmetric: true

What they promise, and what happens when they break it, is in docs/guide/udf.md.
"""
