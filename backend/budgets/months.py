"""How a team stands in a month. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

NEAR = 0.8
"""The share of a budget from which on it is warned of."""
Stand = Literal["within", "near", "spent"]


@dataclass(frozen=True, slots=True)
class Month:
    """What a team has spent of what it may spend."""

    first: date
    """Of the month, in UTC."""
    amount: float
    """That may be spent."""
    spent: float
    currency: str

    @property
    def stand(self) -> Stand:
        """How near the end of the budget is.

        >>> Month(date(2026, 11, 1), 100.0, 80.0, "EUR").stand
        'near'
        """
        if self.spent >= self.amount:
            return "spent"
        return "near" if self.spent >= NEAR * self.amount else "within"

    @property
    def name(self) -> str:
        """As people say it.

        >>> Month(date(2026, 11, 1), 100.0, 80.0, "EUR").name
        'November 2026'
        """
        return f"{self.first:%B %Y}"

    @property
    def told(self) -> str:
        """One line for people.

        >>> Month(date(2026, 11, 1), 100.0, 81.5, "EUR").told
        'EUR 81.50 of the EUR 100.00 for November 2026 are spent'
        """
        money = [f"{self.currency} {value:,.2f}" for value in (self.spent, self.amount)]
        return f"{money[0]} of the {money[1]} for {self.name} are spent"


def month_of(now: datetime) -> date:
    """The first day of a moment's month, in UTC.

    >>> month_of(datetime(2026, 11, 27, tzinfo=UTC))
    datetime.date(2026, 11, 1)
    """
    return now.astimezone(UTC).date().replace(day=1)


def hours_by_day(since: datetime, until: datetime) -> dict[date, float]:
    """How many hours of each day of UTC lie between two moments.

    >>> hours_by_day(datetime(2026, 11, 30, 23, tzinfo=UTC), datetime(2026, 12, 1, 0, 30, tzinfo=UTC))
    {datetime.date(2026, 11, 30): 1.0, datetime.date(2026, 12, 1): 0.5}
    """
    found: dict[date, float] = {}
    start, end = since.astimezone(UTC), until.astimezone(UTC)
    while start < end:
        midnight = (start + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        stop = min(midnight, end)
        found[start.date()] = (stop - start) / timedelta(hours=1)
        start = stop
    return found
