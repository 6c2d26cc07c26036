"""The newest schema of a topic, before a stream reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.sources.formats.format import Format
from jobs.sources.registry.client import Schemas
from jobs.sources.registry.columns import SchemaColumn
from jobs.sources.registry.deployment import Registry
from jobs.sources.registry.values import ready


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject's newest schema."""

    name: str
    number: int
    columns: Sequence[SchemaColumn]


def subject_of(topic: str) -> str:
    """The subject that a topic's values have unless their producers say otherwise.

    >>> subject_of("orders")
    'orders-value'
    """
    return f"{topic}-value"


def newest(registry: Registry, name: str, form: Format) -> Subject:
    """The newest schema of a subject; people wait for it, so it is asked for once.

    Raises `NotThere`, `Unusable`, `Away`, and `InputError` for a file of authorities that cannot be read.
    """
    schemas = Schemas(registry, tries=0)
    schema = schemas.latest(name)
    assert schema.number is not None, "an answer about a subject's version has its number"
    return Subject(name, schema.number, ready(schema, form, schema.number, schemas).columns())
