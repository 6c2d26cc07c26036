"""Accounts and roles are Django's users and groups; teams are ours."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models


class Team(models.Model):
    """People who change each other's queries and streams."""

    name = models.CharField(max_length=63, unique=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="teams", blank=True)
    private = models.BooleanField(null=True, blank=True)
    """Whether only members and admins read what it has; None: as everywhere else (MILLRACE_PRIVATE)."""
    # What one query of the team may cost; None is what the installation allows, see backend.environment.
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


class ServiceAccount(models.Model):
    """An account of a program: its team's, with tokens and no way to sign in.

    It belongs to no person, so whoever made it may leave.
    """

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="service_account"
    )
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="service_accounts")
    """It is a member of this team and of no other."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("account__username",)

    def __str__(self) -> str:
        return f"{self.account}, service account of {self.team}"


class Quota(models.Model):
    """How much one account, or each member of a team, may have.

    What is empty is as everywhere else.

    The fields are `backend.accounts.quotas.Resource`'s.
    """

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="quota"
    )
    team = models.OneToOneField(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="quota")
    topologies = models.PositiveIntegerField(null=True, blank=True)
    """Topologies that answer queries of the account's making."""
    streams = models.PositiveIntegerField(null=True, blank=True)
    queries = models.PositiveIntegerField(null=True, blank=True)
    versions = models.PositiveIntegerField(null=True, blank=True)
    """Of one query."""
    alerts = models.PositiveIntegerField(null=True, blank=True)
    tokens = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ("account__username", "team__name")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(account=None, team__isnull=False)
                | models.Q(account__isnull=False, team=None),
                name="quota_of_one",
                violation_error_message="choose an account or a team",
            ),
        )

    def __str__(self) -> str:
        return f"quota of {self.account or self.team}"
