"""A second factor at sign-in: codes of an authenticator app, and recovery codes."""
