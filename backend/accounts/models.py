"""Accounts and roles are Django's users and groups; teams are ours."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models


class Team(models.Model):
    """People who change each other's queries and streams."""

    name = models.CharField(max_length=63, unique=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="teams", blank=True)
    # What one query of the team may cost; None is what the installation allows, see backend.settings.
    max_state_tuples = models.FloatField(null=True, blank=True, validators=[MinValueValidator(1.0)])
    """Tuples kept, as estimated at deployment."""
    max_tuple_rate = models.FloatField(null=True, blank=True, validators=[MinValueValidator(1.0)])
    """Tuples that a step makes per second, as estimated at deployment."""
    max_state_bytes = models.FloatField(null=True, blank=True, validators=[MinValueValidator(1.0)])
    """Bytes kept, as observed."""
    max_result_rate = models.FloatField(null=True, blank=True, validators=[MinValueValidator(1.0)])
    """Results per second, as observed."""

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
