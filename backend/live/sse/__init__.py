"""Server-sent events: one reader of Redis per topology, and a bounded buffer for every client."""
