"""Results to Iceberg tables, each batch one snapshot."""
