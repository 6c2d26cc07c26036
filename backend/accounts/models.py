"""Accounts are Django's; there is no model of our own."""
