"""What the registry tells the rooms that build on streams."""

from django.dispatch import Signal

name_wanted = Signal()
"""A stream is about to be registered as `name`; a receiver that holds the name raises `Conflict`."""
