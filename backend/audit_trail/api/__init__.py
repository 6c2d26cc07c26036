"""The REST API of `audit_trail`."""
