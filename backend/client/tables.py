"""Results as tables of Arrow, Polars or pandas, whichever is installed."""

from __future__ import annotations

import importlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from backend.client.errors import ClientError


@dataclass(frozen=True, slots=True)
class Table:
    """Results, and the cursor behind them."""

    cursor: str
    """Where to read on."""
    _table: Any

    @staticmethod
    def of(parts: Sequence[bytes], cursor: str) -> Table:
        """The rows of several Arrow streams; empty ones do not count."""
        arrow = _library("pyarrow")
        tables = [_read(part) for part in parts]
        filled = [table for table in tables if table.num_rows] or tables[:1]
        plain = [table.replace_schema_metadata(None) for table in filled]
        return Table(cursor, arrow.concat_tables(plain, promote_options="default"))

    @staticmethod
    def rows_of(part: bytes) -> int:
        """How many rows an Arrow stream has."""
        return int(_read(part).num_rows)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def arrow(self) -> Any:
        """A `pyarrow.Table`."""
        return self._table

    def polars(self) -> Any:
        """A `polars.DataFrame`."""
        return _library("polars").from_arrow(self._table)

    def pandas(self) -> Any:
        """A `pandas.DataFrame`."""
        _library("pandas")
        return self._table.to_pandas()


def _read(part: bytes) -> Any:
    with _library("pyarrow.ipc").open_stream(io.BytesIO(part)) as reader:
        return reader.read_all()


def _library(name: str) -> Any:
    """Raises `ClientError` that says what to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ClientError(f"{package} is not installed: pip install {package}") from error
