"""Alerts: somebody is told when a job fails, lags or stands still, by webhook or e-mail."""
