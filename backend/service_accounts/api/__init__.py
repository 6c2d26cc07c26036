"""The REST API of `service_accounts`."""
