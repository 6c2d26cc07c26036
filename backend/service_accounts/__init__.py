"""Accounts of programs, which admins make for a team, and which do not sign in."""
