"""The chart of a query's results, kept with the query."""

from __future__ import annotations

from typing import Literal, cast

from django.contrib.auth.models import User
from django.db import transaction
from pydantic import BaseModel

from backend.accounts.queries import refuse_others
from backend.audit.actions import Subject
from backend.audit.actions import record as note
from backend.audit.changes import changed
from backend.catalog.models import Query, QueryVersion
from backend.errors import InputErrors
from optimizer.algebra.errors import InputError, Place

Mark = Literal["line", "dots", "count"]
MARKS: tuple[Mark, ...] = ("line", "dots", "count")


class Chart(BaseModel, frozen=True, extra="forbid"):
    """What is drawn of each result: columns of the query by name.

    >>> Chart(mark="line", x="at", y="delay").colour is None
    True
    """

    mark: Mark
    """`count` draws how many results have about the same `x`."""
    x: str
    y: str | None = None
    """None for `count`."""
    colour: str | None = None
    """The column by whose values results are told apart."""


def chart_of(record: Query) -> Chart | None:
    """The query's chart; None without one.

    None, too, if it draws a column that the newest version has no more.
    """
    if not record.chart:
        return None
    chart = Chart.model_validate_json(record.chart)
    return chart if not _unknown(record, chart) else None


def keep_chart(account: User, record: Query, chart: Chart | None) -> None:
    """Keep the chart with the query; None forgets it.

    Raises `Forbidden`; `InputErrors` for a column that the query has not.
    """
    refuse_others(account, record, "may keep its chart")
    if chart is not None and (unknown := _unknown(record, chart)):
        expected = f"one of {', '.join(_columns(record))}"
        place = Place("chart", path=record.name)
        raise InputErrors(
            [InputError("no-such-column", place, f"no column {name}", expected) for name in unknown]
        )
    before = Chart.model_validate_json(record.chart).model_dump() if record.chart else None
    after = None if chart is None else chart.model_dump()
    record.chart = "" if chart is None else chart.model_dump_json()
    with transaction.atomic():
        record.save(update_fields=["chart"])
        if changes := changed({"chart": before}, {"chart": after}):
            note(account, "change", Subject.of("query", record), changes=changes)


def _unknown(record: Query, chart: Chart) -> list[str]:
    columns = _columns(record)
    return [name for name in (chart.x, chart.y, chart.colour) if name is not None and name not in columns]


def _columns(record: Query) -> list[str]:
    return [output.name for output in cast(QueryVersion, record.current).outputs.all()]
