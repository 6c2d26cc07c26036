"""Results to tables of a PostgreSQL database, each batch in one transaction."""
