"""Schemas that values were written with, one class per format."""

from __future__ import annotations

from abc import ABC, abstractmethod

from jobs.sources.formats.decode import Columns
from jobs.sources.registry.client import Reference, Schema, Schemas
from jobs.sources.registry.columns import SchemaColumn


class Unusable(ValueError):
    """A schema that no value can be read with; it says why."""


class Writer(ABC):
    """A writer's schema, ready to read values with."""

    @abstractmethod
    def record(self, body: bytes, columns: Columns) -> object:
        """What a value says of columns: a dictionary, or `Unreadable`.

        `body` is the value behind its schema's number. Other columns may be there, too.
        """

    @abstractmethod
    def type_of(self, body: bytes, column: str) -> str | None:
        """The type that the schema has a column as, for people.

        None if it has no such column. `body` as for `record`.
        """

    @abstractmethod
    def columns(self) -> list[SchemaColumn]:
        """What a stream's columns could be, in the schema's order.

        Of several messages those of the first one.
        """


def referenced(schema: Schema, schemas: Schemas) -> list[tuple[Reference, Schema]]:
    """All that a schema refers to, each behind what it refers to itself.

    Raises as `Schemas.numbered`, and `Unusable` for one name with two meanings.
    """
    found: dict[str, tuple[Reference, Schema]] = {}

    def add(references: tuple[Reference, ...]) -> None:
        for reference in references:
            there = found.get(reference.name)
            if there is None:
                other = schemas.referenced(reference)
                add(other.references)
                found[reference.name] = (reference, other)
            elif there[0] != reference:
                raise Unusable(
                    f"{reference.name} is version {there[0].version} of {there[0].subject} and "
                    f"version {reference.version} of {reference.subject}"
                )

    add(schema.references)
    return list(found.values())
