"""What a topic's values may be."""

from __future__ import annotations

from typing import Literal, TypeAlias

Format: TypeAlias = Literal["json", "avro", "protobuf"]
"""Of JSON with schemas in a registry they are JSON Schemas."""
