"""Server-sent events: one Redis reader per topology, a bounded buffer per client."""
