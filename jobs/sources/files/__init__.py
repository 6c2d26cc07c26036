"""A replay's input: Parquet and CSV files, in the order of arrival."""
