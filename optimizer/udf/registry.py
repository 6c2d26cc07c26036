"""The user functions that queries may call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from optimizer.algebra.types import ColumnType
from optimizer.algebra.udf_names import marked_name


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A deterministic function of one row's values, given as columns.

    >>> text = (ColumnType.STRING, ColumnType.STRING)
    >>> UserFunction("similarity", "package.module:similarity", text, ColumnType.DOUBLE, 0.3).signature
    'similarity(string, string)'
    """

    name: str
    path: str
    """`package.module:function`."""
    arguments: tuple[ColumnType, ...]
    returns: ColumnType
    cost_us: float | None
    """Processor time for one row, in microseconds; None has `optimizer.udf.measure` find it out."""
    symmetric: bool = False
    """True if the arguments may change places."""

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(self.arguments)})"

    @property
    def call_name(self) -> str:
        """The name under which expressions call it."""
        return marked_name(self.name, self.symmetric)


@dataclass(frozen=True, slots=True)
class FunctionRegistry:
    """The functions of one file. Raises `ValueError` when two have the same name."""

    functions: tuple[UserFunction, ...] = ()
    """Sorted by name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "functions", tuple(sorted(self.functions, key=lambda f: f.name)))
        if len({function.name for function in self.functions}) != len(self.functions):
            raise ValueError("function names repeat")

    def __iter__(self) -> Iterator[UserFunction]:
        return iter(self.functions)

    def find(self, name: str) -> UserFunction | None:
        """The function of this name, whatever its case, or None."""
        folded = name.casefold()
        return next((function for function in self.functions if function.name == folded), None)


NO_FUNCTIONS = FunctionRegistry()
