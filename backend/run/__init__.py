"""Start, watch and stop every process of the product (`make run`).

On one machine.
"""
