"""User functions in DuckDB, the oracle: same code, same NULLs, same errors."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from optimizer.algebra.render import duckdb_type
from optimizer.udf.arrow import ARROW_TYPES
from optimizer.udf.evaluate import evaluate
from optimizer.udf.registry import FunctionRegistry, UserFunction


def register(connection: duckdb.DuckDBPyConnection, functions: FunctionRegistry) -> None:
    """Let SQL on a connection call the functions by their names.

    Raises `duckdb.CatalogException` for a name that DuckDB has itself.
    """
    for function in functions:
        connection.create_function(
            function.name,
            _over_chunks(function),
            [*map(duckdb_type, function.arguments)],
            duckdb_type(function.returns),
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
            side_effects=False,
        )


def _over_chunks(function: UserFunction) -> Callable[..., Any]:
    def call(*columns: pa.ChunkedArray) -> pa.Array:
        converted = [
            _column(column).cast(ARROW_TYPES[kind])
            for column, kind in zip(columns, function.arguments, strict=True)
        ]
        return evaluate(function, converted)

    # DuckDB asks the signature how many arguments there are.
    names = (f"argument_{number}" for number in range(len(function.arguments)))
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return call


def _column(chunks: pa.ChunkedArray | pa.Array) -> pa.Array:
    return chunks.combine_chunks() if isinstance(chunks, pa.ChunkedArray) else chunks
