"""Samples between two checks, in Redis."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
from pydantic import BaseModel

from backend.oracle.sampling.sample import Part, Sample, Sampling
from backend.redis import binary_connection
from jobs.protocol import sample_key

KEPT_S = 3600
"""Of a query that nobody checks any more."""
_ABOUT, _TABLE = b"about", b"tuples "
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")


class _Read(BaseModel, frozen=True):
    position: str
    complete_from_us: int | None


class _About(BaseModel, frozen=True):
    digest: str
    """Of the query and its streams: of others it is no sample."""
    halvings: int
    began: int
    batch: int
    parts: dict[str, _Read]


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where the sample of a deployed query lies."""

    topology: str
    deployment: int

    def get(self, sampling: Sampling) -> Sample | None:
        """None if there is none, or one of other tuples."""
        fields = cast("Mapping[bytes, bytes]", binary_connection().hgetall(self._key))
        if _ABOUT not in fields:
            return None
        about = _About.model_validate_json(fields[_ABOUT])
        if about.digest != _digest(sampling):
            return None
        parts = {
            name: Part(
                pa.ipc.open_stream(fields[_TABLE + name.encode()]).read_all(),
                one.position,
                one.complete_from_us,
            )
            for name, one in about.parts.items()
        }
        return Sample(about.halvings, about.began, about.batch, parts)

    def put(self, sampling: Sampling, sample: Sample) -> None:
        """Keep a sample for the next check."""
        parts = {
            name: _Read(position=part.position, complete_from_us=part.complete_from_us)
            for name, part in sample.parts.items()
        }
        about = _About(
            digest=_digest(sampling),
            halvings=sample.halvings,
            began=sample.began,
            batch=sample.batch,
            parts=parts,
        )
        fields: dict[bytes | bytearray | memoryview | str | int | float, bytes | str] = {
            _TABLE + name.encode(): _stored(part.table) for name, part in sample.parts.items()
        }
        with binary_connection().pipeline(transaction=True) as together:
            together.delete(self._key)
            together.hset(self._key, mapping={**fields, _ABOUT: about.model_dump_json()})
            together.expire(self._key, KEPT_S)
            together.execute()

    @property
    def _key(self) -> str:
        return sample_key(self.topology, self.deployment)


def _stored(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _digest(sampling: Sampling) -> str:
    streams = sorted({item.stream for item in sampling.query.inputs})
    told = repr((sampling.query, [sampling.catalog[name] for name in streams]))
    return hashlib.sha256(told.encode()).hexdigest()
