"""What completion and the guide say of functions, from their declarations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from optimizer.algebra.aggregates import AGGREGATES
from optimizer.algebra.expression import Literal
from optimizer.algebra.functions import GROUPS, Function
from optimizer.algebra.render import to_sql
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.sql import parse_query

_HEAD = """/** The functions that completion offers. Written by `python -m tests.generated`: do not edit. */
export interface SqlFunction {
  readonly sql: string;
  readonly signature: string;
  /** One line; the administrator's own functions have none. */
  readonly help?: string;
}

export const SQL_FUNCTIONS: readonly SqlFunction[] = [
"""
_LIST = re.compile(r"<!-- functions -->\n.*?<!-- end of functions -->", re.DOTALL)
_CATALOG = Catalog.of([Stream("s", (("at", ColumnType.TIMESTAMP),), "at")])


def completion() -> str:
    """The functions as a TypeScript module."""
    rows = (
        json.dumps({"sql": f.sql, "signature": f.signature, "help": f.help}, ensure_ascii=False)
        for group in GROUPS.values()
        for f in _listed(group)
    )
    aggregates = (
        json.dumps({"sql": f.name.upper(), "signature": f.signature, "help": f"Of a group: {f.help}"})
        for f in AGGREGATES.values()
    )
    return _HEAD + "".join(f"  {row},\n" for row in (*rows, *aggregates)) + "];\n"


def with_functions(text: str) -> str:
    """The text with the list between `<!-- functions -->` and `<!-- end of functions -->` anew."""
    listed = "\n".join(line for heading in GROUPS for line in _section(heading))
    listed += "\n".join(_aggregates())
    return _LIST.sub(lambda _: f"<!-- functions -->\n{listed}\n<!-- end of functions -->", text)


def example_value(function: Function) -> str:
    """What a function's example gives, as SQL.

    >>> from optimizer.algebra.functions import FUNCTIONS
    >>> example_value(FUNCTIONS["upper"])
    "'JFK'"
    """
    query = parse_query(f"SELECT {function.example} AS y FROM s", "q", _CATALOG)
    value = query.outputs[0].expression
    if isinstance(value, Literal) and (value.value is None or value.type is ColumnType.BIGINT):
        # A reader need not know which integers are bigints, or which type NULL has.
        return "NULL" if value.value is None else str(value.value)
    return to_sql(value)


def _aggregates() -> Iterator[str]:
    yield from ("", "## Aggregates", "", "| aggregate of a group | |", "|---|---|")
    for function in AGGREGATES.values():
        also = f" Also {', '.join(f'`{alias.upper()}`' for alias in function.aliases)}." * bool(
            function.aliases
        )
        yield f"| `{function.signature}` | {function.help}{also} |"
    yield ""


def _listed(group: Sequence[Function]) -> Iterator[Function]:
    """Those that are called by a name."""
    return (function for function in group if function.help)


def _section(heading: str) -> Iterator[str]:
    yield from ("", f"## {heading}", "", "| function | | example | gives |", "|---|---|---|---|")
    for function in _listed(GROUPS[heading]):
        also = f" Also {', '.join(f'`{alias.upper()}`' for alias in function.aliases)}." * bool(
            function.aliases
        )
        cells = (
            f"`{function.signature}`",
            function.help + also,
            f"`{function.example}`",
            f"`{example_value(function)}`",
        )
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""
