"""Adaptation of a replay's plans: schedules, samples, decisions, reports.

Plans change while the replay runs.
"""
