"""Accounts of persons, as admins make, change and delete them."""
