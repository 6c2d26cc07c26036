"""The functions of SQL over columns, with the bits that DuckDB gives."""
