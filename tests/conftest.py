"""What all suites share."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is slow, not wrong: examples have no deadline.
settings.register_profile("millrace", deadline=None)
settings.load_profile("millrace")
