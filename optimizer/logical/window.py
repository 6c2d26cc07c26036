"""Windows: with which newer tuples a tuple of an input may still be combined.

A combination of tuples is a result only if its newest event time T lies in the window of each of its
inputs: for a sliding window of length W, if T - t <= W (DESIGN section 1). What is asked of a window is
asked here, so that another kind of window is one more subclass with its document in `window_of`.

>>> minute, hour = Sliding(60_000_000), Sliding(3_600_000_000)
>>> hour.covers(minute), minute.union(hour).text, UNBOUNDED.intersection(minute).behind("clicks")
(True, '1h', 'clicks [RANGE 1 MINUTE]')
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce

from pydantic_core import CoreSchema, core_schema

from optimizer.algebra.digest import Scalar
from optimizer.logical.durations import duration_text

_UNITS_IN_PLANS = {"d": "DAYS", "h": "HOURS", "m": "MINUTES", "s": "SECONDS"}


class Window(Scalar):
    """The window of a query's input, or of a store: the union of its readers' windows."""

    __slots__ = ()

    @property
    @abstractmethod
    def reach_us(self) -> int | None:
        """How many microseconds older than the newest tuple a tuple may be; None is any.

        So long a store keeps tuples, and within it the runtime looks for them.
        """

    @property
    @abstractmethod
    def document(self) -> int | None:
        """What plans and identities have in its place; `window_of` reads it back."""

    @property
    @abstractmethod
    def text(self) -> str:
        """For people and for names of relations: `10m`, `1.5s`, `all`."""

    @abstractmethod
    def behind(self, stream: str) -> str:
        """What FROM has: the stream's name, as SQL writes it, and the window."""

    @abstractmethod
    def duckdb_condition(self, newer: str, older: str) -> str | None:
        """DuckDB's condition on two event times, given as SQL; None if there is none."""

    @abstractmethod
    def covers(self, other: Window) -> bool:
        """True if every tuple inside the other window is inside this one.

        >>> UNBOUNDED.covers(Sliding(5)), Sliding(5).covers(UNBOUNDED)
        (True, False)
        """

    @property
    def is_bounded(self) -> bool:
        """True if tuples leave the window as event time passes."""
        return self.reach_us is not None

    @property
    def seconds(self) -> float | None:
        """Seconds that tuples stay inside, for the cost model; None is for ever."""
        return None if self.reach_us is None else self.reach_us / 1e6

    @property
    def milliseconds(self) -> float | None:
        """The same in the unit of the interface."""
        return None if self.reach_us is None else self.reach_us / 1e3

    def behind_in_plans(self, stream: str) -> str:
        """As `behind`, in the words of plans for queries without a text.

        The plans' bytes must not change.
        """
        return self.behind(stream)

    def union(self, other: Window) -> Window:
        """A window that covers both: what a store keeps for two readers.

        >>> Sliding(60_000_000).union(Sliding(600_000_000)).text
        '10m'
        """
        if self.covers(other):
            return self
        return other if other.covers(self) else UNBOUNDED

    def longer(self, by_us: int) -> Window:
        """A window that reaches so much further back.

        >>> Sliding(60_000_000).longer(1_000_000).text, UNBOUNDED.longer(1).text
        ('61s', 'all')
        """
        return UNBOUNDED if self.reach_us is None else Sliding(self.reach_us + by_us)

    def intersection(self, other: Window) -> Window:
        """The window inside both, where one of them covers the other.

        >>> Sliding(60_000_000).intersection(UNBOUNDED).text
        '1m'
        """
        if self.covers(other):
            return other
        assert other.covers(self), f"no window is what {self.text} and {other.text} have in common"
        return self

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Documents have a window as `document` says."""
        document = core_schema.nullable_schema(core_schema.int_schema())
        return core_schema.no_info_after_validator_function(
            window_of,
            document,
            serialization=core_schema.plain_serializer_function_ser_schema(_document, return_schema=document),
        )


@dataclass(frozen=True, slots=True)
class Sliding(Window):
    """The tuples that are at most a fixed time older than the newest one, inclusive.

    Raises `ValueError` for a negative length.
    """

    length_us: int

    def __post_init__(self) -> None:
        if self.length_us < 0:
            raise ValueError(f"a window is 0 or more, not {duration_text(self.length_us)}")

    @property
    def reach_us(self) -> int:
        return self.length_us

    @property
    def document(self) -> int:
        return self.length_us

    @property
    def text(self) -> str:
        """Exact: floats would round windows that differ to equal texts.

        >>> Sliding(600_000_000).text, Sliding(1_500_000).text
        ('10m', '1.5s')
        """
        for unit, size in (("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000)):
            if self.length_us and self.length_us % size == 0:
                return f"{self.length_us // size}{unit}"
        seconds, rest = divmod(self.length_us, 1_000_000)
        return f"{seconds}" + (f".{rest:06d}".rstrip("0") if rest else "") + "s"

    def behind(self, stream: str) -> str:
        return f"{stream} [RANGE {duration_text(self.length_us)}]"

    def behind_in_plans(self, stream: str) -> str:
        return f"{stream} [RANGE {self.text[:-1]} {_UNITS_IN_PLANS[self.text[-1]]}]"

    def duckdb_condition(self, newer: str, older: str) -> str:
        # The difference of two moments need not fit into 64 bits, and a window may be longer than these say.
        return f"epoch_us({newer})::HUGEINT - epoch_us({older}) <= {self.length_us}"

    def covers(self, other: Window) -> bool:
        return other.reach_us is not None and other.reach_us <= self.length_us


@dataclass(frozen=True, slots=True)
class Unbounded(Window):
    """All tuples: a store keeps them for ever."""

    @property
    def reach_us(self) -> None:
        return None

    @property
    def document(self) -> None:
        return None

    @property
    def text(self) -> str:
        return "all"

    def behind(self, stream: str) -> str:
        return stream

    def duckdb_condition(self, newer: str, older: str) -> None:
        return None

    def covers(self, other: Window) -> bool:
        return True


UNBOUNDED = Unbounded()


def window_of(document: int | None) -> Window:
    """The window that a document has.

    >>> window_of(None) == UNBOUNDED, window_of(Sliding(5).document) == Sliding(5)
    (True, True)
    """
    return UNBOUNDED if document is None else Sliding(document)


def sliding(length: timedelta) -> Sliding:
    """The sliding window of a length.

    >>> sliding(timedelta(minutes=90)).behind("clicks")
    'clicks [RANGE 90 MINUTES]'
    """
    return Sliding(length // timedelta(microseconds=1))


def union(windows: Iterable[Window]) -> Window:
    """A window that covers all of at least one.

    >>> union([Sliding(60_000_000), Sliding(600_000_000)]).text
    '10m'
    """
    return reduce(Window.union, windows)


def _document(window: Window) -> int | None:
    return window.document
