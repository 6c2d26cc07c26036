"""Values into rows, as an ingesting task does it, without a broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobs.sources.formats.avro import FROM_AVRO
from jobs.sources.formats.decode import FROM_JSON, Columns, type_records
from jobs.sources.formats.format import Format
from jobs.sources.registry.client import Schemas
from jobs.sources.registry.values import WrittenValues


def read_values(
    values: Sequence[bytes | None],
    form: Format,
    columns: Columns,
    schemas: Schemas,
    event_time: str | None = None,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows, and the reasons of the values that are none."""
    written = WrittenValues(values, form, columns, event_time, schemas)
    converters = FROM_JSON if form == "json" else FROM_AVRO
    table, _, broken = type_records(written.records, columns, converters, "a record", written.written_as)
    return table.to_pylist(), [reason for _, reason in broken]
