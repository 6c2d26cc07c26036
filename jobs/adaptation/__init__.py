"""Adaptation of a running replay's plans: schedules, samples, decisions, reports."""
