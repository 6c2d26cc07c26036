"""The files connector: a stream is the files of a folder, by name.

What reads files (pyarrow, Polars) is loaded where they are read.
"""

from __future__ import annotations

from collections.abc import Sequence

from jobs.sources.connector import Asked, Descriptor, LiveConnector, Offsets, Position, Raw, Servers
from jobs.sources.folder.files import FaultyFile, FolderFiles, LineRange, RowRange


class Folder(LiveConnector):
    settings = FolderFiles
    descriptors = (RowRange, LineRange, FaultyFile)
    position_key = "parts"

    def offsets(self, servers: Servers) -> Offsets:
        from jobs.sources.folder.offsets import FolderOffsets

        return FolderOffsets()

    def planned(
        self, stream: str, settings: FolderFiles | None, before: Position, after: Position
    ) -> Sequence[Descriptor]:
        folder, kind = after["folder"], after["format"]
        found: list[Descriptor] = [FaultyFile(stream, folder, *fault) for fault in after["faults"]]
        for name, size, mtime_ns, first, rows, begin, end in after["parts"]:
            which = (stream, folder, name, size, mtime_ns, first, rows)
            if kind == "parquet":
                found.append(RowRange(*which))
            else:
                found.append(LineRange(*which, begin, end, kind == "csv"))
        return found

    def has_come(self, position: Position, newest: Position) -> bool:
        if position.get("of") != newest["of"] or position["file"] is None:
            return False
        name = position["file"][0]
        return bool(name > newest["name"] or (name == newest["name"] and position["ended"]))

    def read(self, descriptor: RowRange | LineRange | FaultyFile, asked: Asked) -> Raw:
        from jobs.sources.folder.reading import read_part
        from jobs.sources.read import only_letter
        from optimizer.algebra.errors import InputError

        if isinstance(descriptor, FaultyFile):
            return only_letter(asked.stream, descriptor.reason, descriptor.place)
        settings = asked.stream.source
        if not isinstance(settings, FolderFiles):
            raise ValueError(f"the plan names no folder for the stream {descriptor.stream}")
        try:
            return read_part(descriptor, asked)
        except InputError as fault:
            if settings.faulty == "fail":
                raise
            return only_letter(asked.stream, f"{fault.found} ({fault.place})", descriptor.place)


CONNECTOR = Folder()
