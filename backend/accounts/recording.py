"""Accounts, their roles, teams' members and sign-ins, in the audit trail.

Accounts are Django's: its pages, its commands and providers of sign-in make and change them without asking an
action of ours. All of them save the record, so that what is recorded follows from that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_save
from django.utils import timezone

from backend.accounts.models import Team
from backend.audit.actions import Subject, record
from backend.audit.changes import changed
from backend.audit.models import AuditEntry

_FIELDS = ("username", "email", "first_name", "last_name", "is_active", "is_staff", "is_superuser")
_REFUSED = "sign in refused"
_BETWEEN_REFUSALS = timedelta(minutes=10)
_SELDOM = "others within ten minutes are not told of"
_TOLD: ContextVar[bool] = ContextVar("told", default=False)


@contextmanager
def told_by_caller() -> Iterator[None]:
    """What is done to accounts inside is part of a change that the caller records."""
    before = _TOLD.set(True)
    try:
        yield
    finally:
        _TOLD.reset(before)


def connect() -> None:
    """Record from now on."""
    pre_save.connect(_remember, sender=User)
    post_save.connect(_saved, sender=User)
    post_delete.connect(_deleted, sender=User)
    m2m_changed.connect(_roles, sender=User.groups.through)
    m2m_changed.connect(_permissions, sender=User.user_permissions.through)
    m2m_changed.connect(_members, sender=Team.members.through)
    user_logged_in.connect(_signed_in)
    user_logged_out.connect(_signed_out)
    user_login_failed.connect(_refused)


def about(account: User) -> Subject:
    """An account as the trail calls it."""
    return Subject("account", account.get_username(), account.pk)


def about_team(team: Team) -> Subject:
    """A team as the trail calls it."""
    return Subject("team", team.name, team.pk, team.name)


def _remember(instance: User, raw: bool, update_fields: Iterable[str] | None, **_: Any) -> None:
    """Keep with the record how it was."""
    instance._recorded = None  # type: ignore[attr-defined]  # ours, from here to `_saved`
    is_bookkeeping = update_fields is not None and not {*update_fields} & {*_FIELDS, "password"}
    if not raw and not is_bookkeeping and instance.pk is not None:
        instance._recorded = User.objects.filter(pk=instance.pk).first()  # type: ignore[attr-defined]


def _saved(instance: User, created: bool, raw: bool, **_: Any) -> None:
    before: User | None = getattr(instance, "_recorded", None)
    if raw or _TOLD.get() or (before is None and not created):
        return
    usual = {"email": "", "first_name": "", "last_name": "", "is_staff": False, "is_superuser": False}
    was = usual if before is None else {name: getattr(before, name) for name in _FIELDS}
    changes = changed(was, {name: getattr(instance, name) for name in _FIELDS})
    if before is None:
        record(None, "create", about(instance), changes=changes)
        return
    # Set until the record is saved; a password that is only hashed anew has none.
    is_new = getattr(instance, "_password", None) is not None
    if is_new or before.has_usable_password() != instance.has_usable_password():
        changes["password"] = [None, "(another one)" if instance.has_usable_password() else "(none)"]
    if changes:
        record(None, "change", about(instance), changes=changes)


def _deleted(instance: User, **_: Any) -> None:
    if not _TOLD.get():
        record(None, "delete", about(instance))


def _roles(**about: Any) -> None:
    for account, verb, groups in _linked(Group, **about):
        _note_links(account, verb, "roles", groups)


def _permissions(**about: Any) -> None:
    for account, verb, permissions in _linked(Permission, **about):
        _note_links(account, verb, "permissions", permissions)


def _note_links(account: User, verb: str, what: str, linked: list[Any]) -> None:
    names = sorted(str(one) for one in linked)
    changes = changed({}, {what: names}) if verb == "add" else changed({what: names}, {})
    record(None, f"{verb} {what}", about(account), changes=changes)


def _members(**about: Any) -> None:
    for account, verb, teams in _linked(Team, **about):
        for team in teams:
            record(None, f"{verb} member", about_team(team), detail=account.get_username())


def _linked(
    kind: type[Group] | type[Permission] | type[Team],
    *,
    instance: Any,
    action: str,
    pk_set: set[int] | None,
    sender: Any,
    **_: Any,
) -> Iterator[tuple[User, str, list[Any]]]:
    """Accounts, with what they get or lose by this.

    Those that were not there are not lost: whoever takes accounts out does not ask first.
    """
    if _TOLD.get() or action not in ("post_add", "pre_remove", "pre_clear"):
        return
    verb = "add" if action == "post_add" else "remove"
    of_account = isinstance(instance, User)
    account, other = "user", kind.__name__.lower()
    near, far = (account, other) if of_account else (other, account)
    links = sender._default_manager.filter(**{near: instance.pk})
    if pk_set is not None:
        links = links.filter(**{f"{far}__in": pk_set})
    found: dict[int, tuple[User, list[Any]]] = {}
    for link in links.select_related(account, other).order_by("pk"):
        one = getattr(link, account)
        found.setdefault(one.pk, (one, []))[1].append(getattr(link, other))
    for one, others in found.values():
        yield one, verb, others


def _signed_in(user: User, **_: Any) -> None:
    record(user, "sign in", about(user))


def _signed_out(user: User | None, **_: Any) -> None:
    if user is not None:
        record(user, "sign out", about(user))


def _refused(credentials: dict[str, Any], **_: Any) -> None:
    """Note it, seldom: strangers cause it, and may not fill what is kept for a year.

    Only of what is an account's name: people type passwords into the other field.
    """
    account = User.objects.filter(username=str(credentials.get("username", ""))).first()
    if account is None:
        return
    since = timezone.now() - _BETWEEN_REFUSALS
    if not AuditEntry.objects.filter(key=account.pk, kind="account", verb=_REFUSED, at__gt=since).exists():
        record(None, _REFUSED, about(account), detail=_SELDOM)
