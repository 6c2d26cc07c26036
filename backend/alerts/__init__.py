"""Alerts by webhook or e-mail when a job fails, lags or stands still."""
