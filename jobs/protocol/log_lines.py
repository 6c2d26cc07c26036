"""How the lines of a run's log are told apart."""

from __future__ import annotations

INFO_MARK = " driver INFO "
"""In each line of the driver that tells of no failure."""
