"""Making, changing and deleting accounts of persons.

All of it is admins'. The audit trail has each (`backend.accounts.recording`).
"""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from backend.accounts.actions import in_the_way
from backend.accounts.queries import ADMINS, GROUPS, Role, persons, refuse_non_admins
from backend.errors import Conflict
from backend.second_factor.actions import reset
from backend.second_factor.queries import factor_of

FIELDS = ("email", "is_active")
"""Fields of an account that an admin sets as they are."""


def create_person(admin: User, name: str, email: str, role: Role) -> User:
    """Make an account without a password.

    Its owner chooses one by a link (`backend.persons.passwords`).

    Raises `Forbidden` unless for admins, and `Conflict` when the name is taken, in whichever case.
    """
    refuse_non_admins(admin, "make accounts")
    # Whatever the case: nobody shall take one for another.
    if User.objects.filter(username__iexact=name).exists():
        raise _taken(name)
    try:
        with transaction.atomic():
            account = User.objects.create_user(name, email)
            _give_role(account, role)
    except IntegrityError as error:
        raise _taken(name) from error
    return account


@transaction.atomic
def change_person(admin: User, account: User, fields: Mapping[str, object]) -> None:
    """Give an account another role or address, or let it sign in or not.

    Who is disabled or demoted is so from the next request on; live pages end within a second, and tokens of a
    disabled account count for nothing.

    Args:
        fields: `role`, and `FIELDS` by name; what is left out stays.

    Raises `Forbidden` unless for admins, and `Conflict` where no admin would be left.
    """
    refuse_non_admins(admin, "change accounts")
    _one_at_a_time()
    set_ = {name: fields[name] for name in FIELDS if name in fields}
    for name, value in set_.items():
        setattr(account, name, value)
    if set_:
        account.save(update_fields=list(set_))
    if "role" in fields:
        _give_role(account, fields["role"])  # type: ignore[arg-type]  # one of the roles, as the form says
    if not _any_admin():
        raise _last_admin(account)


@transaction.atomic
def delete_person(admin: User, account: User) -> None:
    """Delete an account, with its tokens, alerts and sign-ins.

    Raises `Forbidden` unless for admins, and `Conflict` while it owns streams or queries, or is the author of
    versions: these stay what they are, and say whose. Such an account can be disabled.
    """
    refuse_non_admins(admin, "delete accounts")
    _one_at_a_time()
    if not _any_admin(but=account.pk):
        raise _last_admin(account)
    try:
        # In a transaction of its own, so that the refusal leaves nothing half deleted.
        with transaction.atomic():
            account.delete()
    except ProtectedError as error:
        text = f"{account} owns or wrote {in_the_way(error)}; hand over or delete what it owns, or disable it"
        raise Conflict("owns-something", text) from error


@transaction.atomic
def reset_second_factor(admin: User, account: User) -> None:
    """Take the factor of an account whose owner has lost it.

    Raises `Forbidden` unless for admins, and `Conflict` where there is none.
    """
    refuse_non_admins(admin, "reset second factors")
    if factor_of(account) is None:
        raise Conflict("no-second-factor", f"{account} has no second factor")
    reset(admin, account)


def _give_role(account: User, role: Role) -> None:
    groups = {one: Group.objects.get_or_create(name=name)[0] for name, one in GROUPS.items()}
    account.groups.remove(*(group for one, group in groups.items() if one != role))
    account.groups.add(groups[role])
    if account.is_superuser and role != "admin":
        account.is_superuser = False
        account.save(update_fields=["is_superuser"])


def _one_at_a_time() -> None:
    # Two admins that demote each other at once would leave none.
    group, _ = Group.objects.get_or_create(name=ADMINS)
    Group.objects.select_for_update().get(pk=group.pk)


def _any_admin(but: int | None = None) -> bool:
    found = persons().filter(role="admin", is_active=True)
    return (found if but is None else found.exclude(pk=but)).exists()


def _last_admin(account: User) -> Conflict:
    return Conflict("last-admin", f"{account} is the only admin; make somebody else one first")


def _taken(name: str) -> Conflict:
    return Conflict("name-taken", f"there is an account {name} already")
