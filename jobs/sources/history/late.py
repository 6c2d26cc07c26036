"""Files that come when a stream's history is over."""

from __future__ import annotations

import time

from jobs.sources.folder.listing import MARK_LENGTH, Listings
from optimizer.algebra.errors import InputError

LOOKED_EVERY_S = 60.0
_MOST_TOLD = 1000
"""Files in one batch."""


class LateFiles:
    """Looks for files that a stream's history did not have, at most once a minute.

    Arguments: the folder and the names of its files, as the settings have them.
    """

    def __init__(self, folder: str, pattern: str) -> None:
        self._listings = Listings(folder, pattern)
        self._looked_at: float | None = None

    def beside(self, read: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The marks of all known files; names of new ones and what to say of each.

        Args:
            read: the marks of the files that were read or told of. Marks of files that are gone stay: a file
                that comes back as it was is not new.

        A stream that is live does not stop for its folder, which may be away or gone.
        """
        if self._looked_at is not None and time.monotonic() < self._looked_at + LOOKED_EVERY_S:
            return read, ()
        self._looked_at = time.monotonic()
        try:
            listing = self._listings.newest()
        except (OSError, InputError):
            return read, ()
        known = {read[n : n + MARK_LENGTH] for n in range(0, len(read), MARK_LENGTH)}
        new = [file for file in listing.files if file.mark not in known and file.name in listing.complete]
        reason = "a file that came, or was changed, when the history had been read: the stream is live"
        told = tuple((file.name, reason) for file in new[:_MOST_TOLD])
        return read + "".join(file.mark for file in new[:_MOST_TOLD]), told
