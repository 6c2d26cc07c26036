"""Connectors: what each kind of source has to say, and where they are found.

A connector is one module with a `CONNECTOR`. It has the settings that a stream's document gives it,
says how far a batch goes (`Offsets`), and reads in tasks what its descriptors name. All that it remembers
is in positions, so going on behind one is all that a restart needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, TypeAlias, get_args, get_type_hints

from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

from jobs.sources.start import Start
from optimizer.algebra.types import ColumnType
from optimizer.logical.source import CONNECTORS, SourceSettings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from optimizer.physical.graph import GraphStream

Position: TypeAlias = dict[str, Any]
"""How far a stream, or a whole source, is: JSON, as Spark keeps it in its offset log and commits have it."""

BUILT_IN: Mapping[str, str] = {
    "replay": "jobs.sources.files.connector",
    "redis": "jobs.sources.redis",
    "generator": "jobs.sources.generator",
    "results": "jobs.sources.results",
}
"""Connectors that no stream's document names: of a replay, of streams that are sent here, of made-up ones, of
derived ones."""


class Away(ConnectionError):
    """A server does not answer, and may later.

    A batch whose tasks raise it has no bad tuples.
    """


@dataclass(frozen=True, slots=True)
class Servers:
    """What the command line tells of where to read."""

    redis_url: str | None = field(default=None, repr=False)
    """It may hold a password, so it is never written down."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a task asks of a descriptor."""

    stream: GraphStream
    columns: tuple[tuple[str, ColumnType], ...]
    """What a source that can leave columns out has to read; others give whole tuples."""
    needed: Collection[str]
    """Of them, those that turn a tuple away which has no such value."""
    servers: Servers


@dataclass(frozen=True, slots=True)
class Raw:
    """What was read: decoded tuples, and those that could not be."""

    table: pa.Table
    """The asked columns in the types of the schema; rows in the source's order."""
    undecodable: pa.Table | None
    """Columns `reason` and `tuple`, both text; None if there is nothing in it."""
    arrived_ms: npt.NDArray[np.int64] | None
    """Per row of `table`, when the source got it, milliseconds since 1970; None if it cannot tell."""


class Cutting(Protocol):
    """What a server has to be asked in order to cut a descriptor."""

    def last_of(self, entries: Any, rows: int) -> str | None:
        """The id of the last of the first `rows` entries; None if fewer are left."""
        ...

    def tuples_of(self, entry: Any) -> int:
        """How many tuples the range's only entry holds."""
        ...


class Descriptor(ABC):
    """The tuples of a stream that an ingesting task reads.

    Each connector's is a frozen dataclass whose `kind` is its own.

    It names an immutable range, so reading it again after a failure gives the same tuples in the same order.
    """

    __slots__ = ()
    connector: ClassVar[str]
    """Whose it is."""
    stream: str
    rows: int
    """At planning time; 0 for one that only tells of a loss."""
    kind: str

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the tuples are, for people."""

    @property
    def weight(self) -> int:
        """How many tuples or dead letters there are to set aside one by one."""
        return max(1, self.rows)

    def split(self, rows: int) -> tuple[Descriptor, Descriptor] | None:
        """The first `rows` rows and the others; None if only a server could tell."""
        return None

    def cut(self, rows: int, server: Cutting) -> tuple[Descriptor, Descriptor] | None:
        """As `split`, with a server at hand."""
        return self.split(rows)

    def opened(self, server: Cutting) -> Descriptor:
        """With its number of tuples, if it is a single record that holds several."""
        return self


class Numbered(Descriptor):
    """A descriptor of rows that have numbers: `first` to `first + rows` (exclusive)."""

    __slots__ = ()
    first: int

    def split(self, rows: int) -> tuple[Descriptor, Descriptor]:
        whole: Any = self
        behind = replace(whole, first=self.first + rows, rows=self.rows - rows)
        return replace(whole, rows=rows), behind


class Offsets(ABC):
    """Plans the batches of a connector's streams, one in each planning process."""

    @abstractmethod
    def ends(
        self, streams: Mapping[str, Any], positions: Mapping[str, Position], share: int
    ) -> dict[str, Position]:
        """Where the next batch ends, for each stream that has something new.

        Arguments: settings by stream; where each of them is, an empty position if it begins; how many tuples
        of a stream a batch may have.
        Raises `Away`.
        """

    @abstractmethod
    def newest(self, streams: Mapping[str, Any]) -> dict[str, Position]:
        """Behind all that has arrived by now, for streams with anything. Raises `Away`."""

    def backlog(self, stream: str, position: Position) -> int:
        """Tuples behind a position, as far as that is cheap to say. Raises `Away`."""
        return 0


class SeekableOffsets(Offsets):
    """Offsets of a source that can go on where a history ends."""

    @abstractmethod
    def seek(self, stream: str, settings: Any, start: Start) -> Position | None:
        """Find the position before the first tuple from `start` on.

        None while its source is not there. Raises `Away`, and `InputError` if the source has no such place.
        """


class Connector(ABC):
    """A kind of source; its module's `CONNECTOR` is the only object of it."""

    descriptors: ClassVar[tuple[type[Descriptor], ...]]
    reads_by: ClassVar[tuple[str, ...]] = ()
    """Connectors whose descriptors it plans, beside its own."""

    @abstractmethod
    def read(self, descriptor: Any, asked: Asked) -> Raw:
        """The tuples of one of its descriptors, straight into Arrow. Raises `Away`."""


class LiveConnector(Connector):
    """One that brings streams of a running topology."""

    settings: ClassVar[type[SourceSettings] | None] = None
    """What a stream's document has under the connector's name; None if it names none."""
    position_key: ClassVar[str]
    """A key that its streams' positions in a checkpoint have, and no other connector's."""
    remote: ClassVar[bool] = True
    """True if a server may be away. All remote streams then stand still together."""

    @abstractmethod
    def offsets(self, servers: Servers) -> Offsets:
        """Plans batches of these streams."""

    @abstractmethod
    def planned(self, stream: str, settings: Any, before: Position, after: Position) -> Sequence[Descriptor]:
        """What lies between two positions: the same whenever it is asked for."""

    @abstractmethod
    def has_come(self, position: Position, newest: Position) -> bool:
        """True if a stream at this position has read what `Offsets.newest` told of."""

    def history(self, position: Position) -> tuple[int, int] | None:
        """How many files of how many were read before a stream is live.

        None once a stream is live. Before that it is not silent when it brings nothing: others wait for it.
        """
        return None

    def entry(self, position: Position) -> str | None:
        """The last entry of a Redis stream that was read.

        None if tuples come from elsewhere, too.
        """
        return None


@cache
def connector(name: str) -> Connector:
    """The connector of this name.

    >>> connector("replay").descriptors[0].__name__
    'FileRange'
    """
    found: Connector = import_module({**BUILT_IN, **CONNECTORS}[name]).CONNECTOR
    return found


def live_connector(name: str) -> LiveConnector:
    """The connector of this name, of a running topology's streams.

    >>> live_connector("kafka").position_key
    'offsets'
    """
    found = connector(name)
    assert isinstance(found, LiveConnector), f"{name} brings no stream of a running topology"
    return found


@cache
def _adapter(kind: type[Descriptor]) -> TypeAdapter[Descriptor]:
    return TypeAdapter(kind)


@cache
def _by_kind() -> dict[str, type[Descriptor]]:
    kinds = [kind for name in (*BUILT_IN, *CONNECTORS) for kind in connector(name).descriptors]
    return {get_args(get_type_hints(kind)["kind"])[0]: kind for kind in kinds}


def _described(document: dict[str, Any]) -> Descriptor:
    return _adapter(_by_kind()[document["kind"]]).validate_python(document)


def _written(descriptor: Descriptor) -> dict[str, Any]:
    """Not by its kind: the process that plans a replay loads no connector but its own."""
    document: dict[str, Any] = _adapter(type(descriptor)).dump_python(descriptor)
    return document


class _Document:
    """Has pydantic read a descriptor as the class that has its `kind`."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        written = core_schema.plain_serializer_function_ser_schema(_written)
        return core_schema.no_info_plain_validator_function(_described, serialization=written)


AnyDescriptor: TypeAlias = Annotated[Descriptor, _Document]
"""A descriptor in a document that pydantic reads."""
