"""Server-sent events: one Redis reader per topology, a buffer per client.

The buffers are bounded.
"""
