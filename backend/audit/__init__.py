"""The audit trail: an entry for each change by a person, a program or the product."""
