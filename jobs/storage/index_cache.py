"""Keep run indexes open in their process: small batches ask the same ones."""

from __future__ import annotations

from collections import OrderedDict

from jobs.storage.run_index import RunIndex


class OpenIndexes:
    """Indexes and sizes of runs by path, the ones asked longest ago first.

    A path is never used twice, so nothing here grows old; indexes of deleted runs are not asked again and
    go first.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, RunIndex] = OrderedDict()
        self.bytes = 0
        """What they take in memory."""

    def find(self, path: str) -> RunIndex | None:
        index = self._kept.get(path)
        if index is not None:
            self._kept.move_to_end(path)
        return index

    def keep(self, path: str, index: RunIndex, most_bytes: int) -> None:
        """Keep an open index, which will not grow, and no more bytes than those of all."""
        if path not in self._kept:
            self._kept[path] = index
            self.bytes += index.bytes
        while self.bytes > most_bytes:
            self.bytes -= self._kept.popitem(last=False)[1].bytes
