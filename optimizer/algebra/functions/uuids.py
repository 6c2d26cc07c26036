"""UUIDs: their functions, and the texts that are written for them."""

from __future__ import annotations

from optimizer.algebra.functions.declaration import declared

_DIGITS = frozenset("0123456789abcdefABCDEF")
_LENGTH = 32

FUNCTIONS = (
    declared(
        "UUID_EXTRACT_VERSION(id uuid) -> bigint",
        "The version of a UUID, such as 4 or 7.",
        "UUID_EXTRACT_VERSION(UUID '0190eebc-9c0b-7ef8-bb6d-6bb9bd380a11')",
        duckdb="CAST(uuid_extract_version({0}) AS BIGINT)",
    ),
    declared(
        "UUID_EXTRACT_TIMESTAMP(id uuid) -> timestamp",
        "When a UUID of version 7 was made; NULL of other versions.",
        "UUID_EXTRACT_TIMESTAMP(UUID '0190eebc-9c0b-7ef8-bb6d-6bb9bd380a11')",
        duckdb="CAST(uuid_extract_timestamp({0}) AS TIMESTAMP)",
    ),
)


def uuid_text(text: str) -> str:
    """The canonical text of a UUID.

    Other ones are read as by DuckDB: with braces, without hyphens, in capitals.

    >>> uuid_text("{A0EEBC999C0B4EF8BB6D6BB9BD380A11}")
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'

    Raises `ValueError` for a text that is none.
    """
    inner = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    digits = inner.replace("-", "")
    if len(digits) != _LENGTH or not _DIGITS.issuperset(digits):
        raise ValueError(f"{text!r:.80} is no UUID")
    low = digits.lower()
    return f"{low[:8]}-{low[8:12]}-{low[12:16]}-{low[16:20]}-{low[20:]}"
