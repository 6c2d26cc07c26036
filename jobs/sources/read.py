"""Reading what a descriptor describes, inside an ingesting task."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pyarrow as pa

from jobs.sources.connector import Asked, Descriptor, Raw, Servers, connector
from jobs.sources.formats.arrow_types import stream_schema
from optimizer.physical.graph import GraphStream


def read(
    descriptor: Descriptor,
    stream: GraphStream,
    columns: Collection[str],
    redis_url: str | None,
    *,
    whole: bool = False,
) -> Raw:
    """Read a range. `columns` is what the plan needs; the event time is always read.

    With `whole` the others are there too, where a source can leave them out, and turn no tuple away: which
    tuples there are does not depend on it.

    Reading the same range twice gives the same rows, unless entries were deleted from Redis: a dead letter
    tells how many.
    Raises `redis.ConnectionError` while Redis cannot be reached, `OSError` for a missing file, and
    `InputError` for a damaged one.
    """
    if stream.source is not None and descriptor.connector in (parts := stream.source.parts()):
        stream = replace(stream, source=parts[descriptor.connector])
    needed = {*columns, stream.event_time}
    wanted = tuple((name, kind) for name, kind in stream.columns if whole or name in needed)
    return connector(descriptor.connector).read(descriptor, Asked(stream, wanted, needed, Servers(redis_url)))


def only_letter(stream: GraphStream, reason: str, text: str) -> Raw:
    """No tuple, and one dead letter that says why."""
    return Raw(stream_schema(stream.columns).empty_table(), letters([(reason, text)]), None)


def letters(broken: Sequence[tuple[str, str]]) -> pa.Table | None:
    """Reasons and texts as `Raw.undecodable` has them.

    >>> letters([("not JSON", "{")]).to_pylist()
    [{'reason': 'not JSON', 'tuple': '{'}]
    """
    if not broken:
        return None
    return undecodable([reason for reason, _ in broken], [text for _, text in broken])


def undecodable(reasons: pa.ChunkedArray | list[str], texts: pa.ChunkedArray | list[str]) -> pa.Table:
    """Columns as `Raw.undecodable` has them."""
    columns = {"reason": reasons, "tuple": texts}
    return pa.table(
        {name: pa.array(c, pa.string()) if isinstance(c, list) else c for name, c in columns.items()}
    )
