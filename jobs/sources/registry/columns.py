"""What a registry's schema would be as columns of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from optimizer.algebra.types import ColumnType

_NUMBERS = (ColumnType.BIGINT, ColumnType.INT, ColumnType.DOUBLE)


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A field of a schema."""

    name: str
    found: str
    """Its type, as the schema's format calls it."""
    kinds: tuple[ColumnType, ...] | None
    """Column types that its values are; none if it is no value of a column, None if its values decide."""
    read: tuple[ColumnType, ...] = ()
    """Further types that its values may be read as."""

    @property
    def kind(self) -> ColumnType | None:
        """The type that a column of it gets; None if there is no such, or no single one."""
        return self.kinds[0] if self.kinds is not None and len(self.kinds) == 1 else None

    def fits(self, wanted: ColumnType) -> bool:
        """True if some value may be one of the column's type.

        Each value decides for itself.

        >>> SchemaColumn("n", "long", (ColumnType.BIGINT,)).fits(ColumnType.INT)
        True
        >>> SchemaColumn("n", "string", (ColumnType.STRING,)).fits(ColumnType.INT)
        False
        """
        return self.kinds is None or any(_fits(kind, wanted) for kind in (*self.kinds, *self.read))


def _fits(found: ColumnType, wanted: ColumnType) -> bool:
    if found is ColumnType.STRING and (wanted.is_decimal or wanted in (ColumnType.UUID, ColumnType.TIME)):
        return True
    numbers = found in _NUMBERS or found.is_decimal
    return found is wanted or (numbers and (wanted in _NUMBERS or wanted.is_decimal))


def misfits(found: Iterable[SchemaColumn], declared: Sequence[tuple[str, ColumnType]]) -> list[str]:
    """Declared columns that no value of a schema fits, each with both types.

    >>> misfits([SchemaColumn("n", "string", (ColumnType.STRING,))], [("n", ColumnType.INT)])
    ['n is string, not int']
    """
    there = {column.name: column for column in found}
    return [
        f"{name} is {there[name].found}, not {kind}"
        for name, kind in declared
        if name in there and not there[name].fits(kind)
    ]
