"""What the registry tells the rooms that build on streams."""

from django.dispatch import Signal

name_wanted = Signal()
"""A `Stream` or a `Query`, which is the sender, is about to be made by `account` as `name`.

A receiver that holds the name raises `Conflict`.
"""
