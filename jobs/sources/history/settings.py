"""Histories: the settings of a stream that files bring until it goes live."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Self

import pydantic
from pydantic import ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from jobs.sources.folder.files import FolderFiles
from jobs.sources.start import EXPECTED, EntryStart, OffsetsStart, Start, start_of
from optimizer.algebra.settings import SETTINGS, BadSetting
from optimizer.logical.source import SourceSettings


@pydantic.dataclasses.dataclass(
    frozen=True, slots=True, config=ConfigDict(**SETTINGS, arbitrary_types_allowed=True)
)
class FolderHistory(FolderFiles):
    """The folder whose files are read to their end before a stream goes live.

    Its live part is what is sent to Millrace, or a topic with settings of its own beside these.

    Raises `ValueError` like `FolderFiles`, and for a start that is none.

    >>> FolderHistory("archive/orders", start="2026-01-01T00:00:00Z").place
    'the folder archive/orders, then what is sent to Millrace'
    """

    connector: ClassVar[str] = "history"
    title: ClassVar[str] = "files of a folder first"
    precedes: ClassVar[tuple[str, ...]] = ("kafka",)

    start: Annotated[
        str,
        Field(
            title="Then live from",
            min_length=1,
            max_length=10_000,
            json_schema_extra={"x-expected": EXPECTED},
        ),
    ] = "earliest"
    """Where the live part begins: earliest, latest (when the stream is first read), a time, an entry's id, or
    the offset of each partition as 0: 1200, 1: 1180."""
    live: Annotated[SkipJsonSchema[SourceSettings | None], Field(exclude=True)] = None
    """What goes on behind the files; None for tuples that are sent to Millrace."""

    @model_validator(mode="after")
    def _begins_somewhere(self) -> Self:
        try:
            start_of(self.start)
        except ValueError as error:
            raise ValueError(f"start: {error}") from None
        return self

    @property
    def begin(self) -> Start:
        """Where the live part begins."""
        return start_of(self.start)

    @property
    def live_connector(self) -> str:
        """The connector of the live part."""
        return "redis" if self.live is None else self.live.connector

    @property
    def place(self) -> str:
        then = "what is sent to Millrace" if self.live is None else self.live.place
        return f"the folder {self.folder}, then {then}"

    @property
    def identity(self) -> str:
        """What positions are of."""
        return f"{self.folder}/{self.pattern} as {self.format}"

    @property
    def takes_tuples(self) -> bool:
        return self.live is None

    def parts(self) -> Mapping[str, SourceSettings]:
        first: dict[str, SourceSettings] = {"history": self}
        return first if self.live is None else {**first, self.live.connector: self.live}

    def followed_by(self, live: SourceSettings | None) -> SourceSettings:
        begin = self.begin
        if isinstance(begin, OffsetsStart) and live is None:
            expected = "earliest, latest, a time or an entry's id: partitions have topics only"
            raise BadSetting("start", repr(self.start), expected)
        if isinstance(begin, EntryStart) and live is not None:
            expected = "earliest, latest, a time or the offset of each partition: entries have no topics"
            raise BadSetting("start", repr(self.start), expected)
        if live is not None and live.document().get("start", "earliest") != "earliest":
            expected = f"nothing for the start of {live.place}: it is said here"
            raise BadSetting("start", repr(live.document()["start"]), expected)
        return replace(self, live=live)
