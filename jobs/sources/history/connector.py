"""The history connector: a folder's files, then a live source from a place on.

What it plans are the folder's descriptors, and then those of the live part's connector.
"""

from __future__ import annotations

from collections.abc import Sequence

from jobs.sources.connector import (
    Asked,
    Descriptor,
    LiveConnector,
    Offsets,
    Position,
    Raw,
    Servers,
    live_connector,
)
from jobs.sources.folder.files import FaultyFile
from jobs.sources.history.settings import FolderHistory


class History(LiveConnector):
    settings = FolderHistory
    descriptors = ()
    reads_by = ("files", "redis", "kafka")
    position_key = "history"

    def offsets(self, servers: Servers) -> Offsets:
        from jobs.sources.history.offsets import HistoryOffsets

        return HistoryOffsets(servers)

    def planned(
        self, stream: str, settings: FolderHistory | None, before: Position, after: Position
    ) -> Sequence[Descriptor]:
        if before.get("history") != after["history"]:
            before = {}
        if not after["is_live"]:
            if before.get("folder", {}) == after["folder"]:
                return []
            return live_connector("files").planned(stream, None, before.get("folder", {}), after["folder"])
        found: list[Descriptor] = [FaultyFile(stream, after["place"], *late) for late in after["late"]]
        live = before.get("live")
        # Without one the batch says where the live part begins, and takes nothing of it.
        if live is not None and live != after["live"]:
            found += live_connector(after["then"]).planned(stream, None, live, after["live"])
        return found

    def has_come(self, position: Position, newest: Position) -> bool:
        if position.get("history") != newest["history"] or not position["is_live"]:
            return False
        if newest["live"] is None:
            return True
        then = live_connector(newest["then"])
        return position["live"] is not None and then.has_come(position["live"], newest["live"])

    def history(self, position: Position) -> tuple[int, int] | None:
        if position["is_live"]:
            return None
        read, there = position["files"]
        return read, there

    def read(self, descriptor: Descriptor, asked: Asked) -> Raw:
        raise TypeError(f"a descriptor of {descriptor.connector} is read by its own connector")


CONNECTOR = History()
