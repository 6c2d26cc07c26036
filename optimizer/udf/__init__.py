"""Functions of an administrator, which predicates may call: declared in a file, never in SQL.

    functions:
      similarity:
        call: optimizer.udf.library.text:similarity
        arguments: [string, string]
        returns: double
        cost_us: 0.3
        symmetric: true

What they promise, and what happens when they break it, is in docs/guide/udf.md.
"""
