"""A program for test_race.py: an operator with a token and a query, printed as JSON."""

from __future__ import annotations

import json

import django

django.setup()

from backend.accounts.actions import create_operator  # noqa: E402
from backend.catalog.actions import create_query  # noqa: E402
from backend.streams.actions import StreamSpec, create_stream  # noqa: E402
from backend.tokens.actions import create_token  # noqa: E402
from optimizer.algebra.types import ColumnType  # noqa: E402


def main() -> None:
    owner = create_operator("olga", "long-enough-1")
    create_stream(owner, StreamSpec("r", (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT)), "at"))
    sql = "SELECT x.a FROM r [RANGE 1 HOUR] AS x, r [RANGE 1 HOUR] AS y WHERE x.a = y.a"
    query = create_query(owner, "pairs", sql)
    print(json.dumps({"query": query.pk, "secret": create_token(owner, "race")[1]}))


if __name__ == "__main__":
    main()
