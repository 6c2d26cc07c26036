"""How the listener of a stream was let in, and whether that still holds."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import lru_cache

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user, get_user_model
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone

from backend.accounts.reading import privacy_in_force
from backend.accounts.requests import AccountRequest
from backend.catalog.queries import readable_queries
from backend.second_factor.queries import PROVEN, factors_of
from backend.tokens.models import Token
from backend.topologies.queries import topologies
from backend.topologies.sight import WHOLE, Sight, sight_of


@dataclass(frozen=True, slots=True)
class TopologySeen:
    """What a listener is told of a topology, for as long as that is what it may know."""

    topology: str
    sight: Sight

    def holds(self, account: User) -> bool:
        record = topologies(account).filter(name=self.topology).first()
        return record is not None and sight_of(account, record) == self.sight


@dataclass(frozen=True, slots=True)
class QuerySeen:
    """A subscription to a query."""

    query: int

    def holds(self, account: User) -> bool:
        return readable_queries(account).filter(pk=self.query).exists()


@dataclass(frozen=True, slots=True)
class Admission:
    """An account, with the session or the token that it came by, and what it reads."""

    account: int
    session: str | None
    token: int | None
    seen: TopologySeen | QuerySeen


def admission_of(request: AccountRequest, seen: TopologySeen | QuerySeen) -> Admission:
    """Of a request that REST framework let in."""
    if isinstance(request.auth, Token):
        return Admission(request.user.pk, None, request.auth.pk, seen)
    return Admission(request.user.pk, request.session.session_key, None, seen)


def no_longer_hold(admissions: Set[Admission]) -> set[Admission]:
    """Admissions that no longer hold.

    Their account, session or token lets them in no more, or their account reads otherwise.

    Five queries however many there are, while nothing is private: deactivated and deleted accounts, sessions
    that were left or expired, whose password was changed, or without the code of a second factor, tokens that
    were revoked or expired. Where something is, a few more for each account and what it listens to: it may
    have lost a right, or got one.
    """
    now = timezone.now()
    accounts = get_user_model().objects.filter(is_active=True).only("password", "is_active", "is_superuser")
    known = accounts.in_bulk({one.account for one in admissions})
    named = {one.session for one in admissions if one.session is not None}
    left = Session.objects.filter(pk__in=named, expire_date__gt=now)
    sessions = dict(left.values_list("pk", "session_data") if named else ())
    factors = factors_of({one.account for one in admissions if one.session is not None} if named else ())
    marked = {one.token for one in admissions if one.token is not None}
    valid = Q(expires_at=None) | Q(expires_at__gt=now)
    held = Token.objects.filter(valid, pk__in=marked, stream=None)
    tokens = dict(held.values_list("pk", "owner_id") if marked else ())
    gone = {
        one
        for one in admissions
        if one.account not in known
        or (one.token is not None and tokens.get(one.token) != one.account)
        or (one.session is not None and not _is_open(one.session, sessions, known[one.account]))
        or (one.session in sessions and not _has_proven(sessions[one.session], factors.get(one.account)))
        or (one.session is None and one.token is None)
    }
    if privacy_in_force():
        left_in = admissions - gone
        stays = {pair: pair[1].holds(known[pair[0]]) for pair in {(one.account, one.seen) for one in left_in}}
        return gone | {one for one in left_in if not stays[one.account, one.seen]}
    restricted = (one for one in admissions - gone if not _is_unrestricted(one))
    return gone | set(restricted)


def _is_unrestricted(one: Admission) -> bool:
    return isinstance(one.seen, QuerySeen) or one.seen.sight == WHOLE


def _is_open(key: str, sessions: dict[str, str], account: User) -> bool:
    if key not in sessions:
        return False
    if _signed_in(sessions[key])[:2] == (str(account.pk), account.get_session_auth_hash()):
        return True
    # Signed with an earlier SECRET_KEY, or another password's: Django has the last word.
    request = HttpRequest()
    request.session = SessionStore(key)
    return get_user(request).pk == account.pk


def _has_proven(session_data: str, factor: int | None) -> bool:
    return factor is None or _signed_in(session_data)[2] == factor


@lru_cache(maxsize=4096)
def _signed_in(session_data: str) -> tuple[str, str, int | None]:
    """A session's account, its password's digest at sign-in, and the proven factor."""
    content = SessionStore().decode(session_data)
    return str(content.get(SESSION_KEY)), str(content.get(HASH_SESSION_KEY)), content.get(PROVEN)
