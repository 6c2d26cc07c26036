from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models

from backend.accounts.models import Team


class Budget(models.Model):
    """What a team may spend in a month; a team without one may spend what it likes."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="budget")
    amount = models.FloatField(validators=[MinValueValidator(0.0)])
    """In the installation's currency (MILLRACE_CURRENCY)."""

    class Meta:
        ordering = ("team__name",)

    def __str__(self) -> str:
        return f"budget of {self.team}"


class DayOfUse(models.Model):
    """What a team's queries used on a day of UTC, as far as it was counted.

    Hours, not money: prices are the operator's, and may be set or mended later.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="days_of_use")
    day = models.DateField()
    core_hours = models.FloatField(default=0.0)
    byte_hours = models.FloatField(default=0.0)
    """Of stores."""

    class Meta:
        ordering = ("team__name", "day")
        constraints = (models.UniqueConstraint(fields=("team", "day"), name="one_day_of_use"),)

    def __str__(self) -> str:
        return f"{self.team} on {self.day}"


class Meter(models.Model):
    """When use was counted last: one row.

    It moves by compare-and-set, so that no time is counted by two workers.
    """

    read_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"read at {self.read_at}"
