"""Values that begin with the number of the schema that they were written with.

The stream's columns are all that a reader wants of them: what a schema has besides is passed over, and a
column that an older schema does not have is NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module

from jobs.sources.formats.decode import Columns, Unreadable
from jobs.sources.formats.format import Format
from jobs.sources.formats.frame import unframed
from jobs.sources.registry.client import KIND_NAMES, NotThere, Schema, Schemas
from jobs.sources.registry.writer import Unusable, Writer

_WRITERS = {
    "avro": ("AVRO", "jobs.sources.registry.avro", "AvroWriter"),
    "protobuf": ("PROTOBUF", "jobs.sources.registry.protobuf", "ProtobufWriter"),
    "json": ("JSON", "jobs.sources.registry.json_schema", "JsonWriter"),
}
"""By format what a registry calls it, and the class, loaded where a stream has such values."""


class WrittenValues:
    """What a batch's values say, and what their writers' schemas say of them.

    Args:
        values: as they came.
        form: the topic's format.
        columns: the stream's.
        event_time: the column that every value must have; None if it is not in the values.
        schemas: the registry's.
    Raises:
        Away: a schema is not known here yet, and the registry does not answer.
    """

    __slots__ = ("_bodies", "_writers", "records")

    def __init__(
        self,
        values: Sequence[bytes | None],
        form: Format,
        columns: Columns,
        event_time: str | None,
        schemas: Schemas,
    ) -> None:
        # A number that the registry does not have yet may be there for the next batch.
        self._writers: dict[int, Writer | Unreadable] = {}
        self._bodies: dict[int, tuple[int, bytes]] = {}
        self.records: list[object] = []
        """As `decode.type_records` takes them."""
        for position, value in enumerate(values):
            framed = unframed(value)
            if isinstance(framed, Unreadable):
                self.records.append(framed)
                continue
            self._bodies[position] = number, body = framed
            if number not in self._writers:
                self._writers[number] = _writer_or_reason(form, number, schemas)
            self.records.append(_record(self._writers[number], number, body, columns, event_time))

    def written_as(self, position: int, column: str) -> str:
        """What the schema of a value has the column as: `string in schema 7`."""
        number, body = self._bodies[position]
        writer = self._writers[number]
        assert isinstance(writer, Writer), "only records have columns"
        return f"{writer.type_of(body, column) or 'nothing'} in schema {number}"


def _record(
    writer: Writer | Unreadable, number: int, body: bytes, columns: Columns, event_time: str | None
) -> object:
    if isinstance(writer, Unreadable):
        return writer
    record = writer.record(body, columns)
    if event_time is None or not isinstance(record, dict) or record.get(event_time) is not None:
        return record
    if writer.type_of(body, event_time) is None:
        return Unreadable(f"schema {number} has no {event_time}, which is the event time")
    return record


def _writer_or_reason(form: Format, number: int, schemas: Schemas) -> Writer | Unreadable:
    try:
        return writer_of(form, number, schemas)
    except NotThere as error:
        return Unreadable(f"schema {number} is not in the registry: {error}"[:200])
    except Unusable as error:
        return Unreadable(f"schema {number} cannot be used: {error}")


@lru_cache(maxsize=1000)
def writer_of(form: Format, number: int, schemas: Schemas) -> Writer:
    """The writer's schema with a number, made ready once.

    Raises as `Schemas.numbered`, and `Unusable`.
    """
    return ready(schemas.numbered(number), form, number, schemas)


def ready(schema: Schema, form: Format, number: int, schemas: Schemas) -> Writer:
    """A schema, ready to read a topic's values with.

    Raises as `writer_of`.
    """
    kind, module, name = _WRITERS[form]
    if schema.kind != kind:
        found = KIND_NAMES.get(schema.kind, schema.kind)
        raise Unusable(f"it is {found} instead of {KIND_NAMES[kind]}")
    writer: Writer = getattr(import_module(module), name)(schema, number, schemas)
    return writer
