"""Windows as they are written behind streams, to windows of the query."""

from __future__ import annotations

from optimizer.algebra.identifiers import nearest
from optimizer.logical.durations import UNIT_NAMES, duration_us, unit_us
from optimizer.logical.window import UNBOUNDED, Sliding, Window
from optimizer.sql.grammar.dialect import WindowText
from optimizer.sql.grammar.places import SourceText


def read_window(window: WindowText | None, text: SourceText) -> Window:
    """The window that is written; unbounded if none is. Raises `InputError`."""
    if window is None or window.number is None:
        return UNBOUNDED
    if unit_us(window.unit) is None:
        raise text.error(
            window.unit_span,
            "bad-window",
            f"unit {window.unit}",
            f"one of {', '.join(UNIT_NAMES)}",
            nearest(window.unit, UNIT_NAMES),
        )
    try:
        us = duration_us(window.number, window.unit)
    except ValueError:
        raise text.error(
            window.number_span, "bad-window", window.number, "a number, the window's length"
        ) from None
    if us < 0:
        raise text.error(
            window.number_span, "bad-window", f"a window of {window.number} {window.unit}", "0 or more"
        )
    return Sliding(us)
