"""Accounts and roles are Django's users and groups; teams are ours."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Team(models.Model):
    """People who change each other's queries and streams."""

    name = models.CharField(max_length=63, unique=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="teams", blank=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
