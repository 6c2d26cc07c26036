"""What workers do is imported from here, once, by the server that they are forked from."""

import backend.catalog.preview
import backend.catalog.reading
import backend.topologies.drafting

__all__ = ["backend"]
