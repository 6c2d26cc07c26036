"""The REST API of `budgets`."""
