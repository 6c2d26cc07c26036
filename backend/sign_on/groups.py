"""Teams follow the groups that the provider says, at every sign-in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import render
from django.utils import timezone

from backend.accounts.models import Team
from backend.accounts.queries import is_service
from backend.accounts.recording import about_team
from backend.audit.actions import record
from backend.audit.origin import Through, coming


def read_teams(text: str) -> Mapping[str, str]:
    """Teams by the provider's groups, as `MILLRACE_OIDC_TEAMS` has them.

    >>> read_teams("flight-ops=airside, night = night")
    {'flight-ops': 'airside', 'night': 'night'}

    Raises `ValueError` for anything else.
    """
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        group, _, team = (word.strip() for word in part.rpartition("="))
        if not (group and team):
            raise ValueError(f"found {part!r}, expected GROUP=TEAM")
        found[group] = team
    return found


def groups_of(claims: object) -> frozenset[str]:
    """The groups that a provider's answer tells, in the claim `MILLRACE_OIDC_GROUPS`.

    Args:
        claims: `userinfo` and `id_token`, as django-allauth keeps them; the former counts where both tell it.

    Raises `ValueError` for a claim that is neither a text nor a list of texts: then it is not known which
    groups there are, and nobody is let in or taken out for that.
    """
    told = claims if isinstance(claims, dict) else {}
    name = settings.MILLRACE_OIDC_GROUPS
    found: object = []
    for source in ("id_token", "userinfo"):
        part = told.get(source)
        if isinstance(part, dict) and name in part:
            found = part[name]
    listed = [found] if isinstance(found, str) else found
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise ValueError(f"claim {name}: found {type(found).__name__}, expected a text or a list of texts")
    return frozenset(listed)


def refuse_unreadable(request: HttpRequest, login: SocialLogin) -> None:
    """End a sign-in whose groups cannot be read.

    It ends before there is an account or a session.
    """
    try:
        groups_of(login.account.extra_data)
    except ValueError as error:
        raise _refusal(request, str(error)) from error


def refuse_service_accounts(request: HttpRequest, login: SocialLogin) -> None:
    """End a sign-in as a service account.

    Whoever writes to the database can link one to a subject; its groups must not move it to another team.
    """
    if is_service(login.user):
        raise _refusal(request, f"{login.user} is a service account, which cannot sign in")


def _refusal(request: HttpRequest, why: str) -> ImmediateHttpResponse:
    page = render(request, "socialaccount/authentication_error.html", {"why": why}, status=403)
    return ImmediateHttpResponse(page)


def follow(request: HttpRequest, user: User, sociallogin: SocialLogin | None = None, **_: Any) -> None:
    """Put an account into the teams that its groups say.

    And out of the others: whenever it comes by the provider.

    Only teams that `MILLRACE_OIDC_TEAMS` names; one that is not there is made. The session ends after
    `MILLRACE_OIDC_HOURS`, so that what the provider takes away is gone by then.
    """
    if sociallogin is None:
        return
    groups = groups_of(sociallogin.account.extra_data)
    teams = read_teams(settings.MILLRACE_OIDC_TEAMS)
    wanted = {team for group, team in teams.items() if group in groups}
    with coming(Through.PROVIDER, account=user), transaction.atomic():
        for name in sorted({*teams.values()}):
            team, is_new = Team.objects.get_or_create(name=name)
            if is_new:
                record(user, "create", about_team(team))
            if name in wanted:
                team.members.add(user)
            else:
                team.members.remove(user)
    # A moment, not a length: whatever is written to the session, it ends then.
    request.session.set_expiry(timezone.now() + timedelta(hours=settings.MILLRACE_OIDC_HOURS))
