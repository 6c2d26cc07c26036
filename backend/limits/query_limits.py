"""The limits of one query, so that no cross product sinks everyone's topology."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from backend.accounts.models import Team
from backend.bounded import pool
from backend.bounded.caller import Caller
from backend.catalog.language import texts_of
from backend.catalog.models import Query, QueryVersion
from backend.errors import Conflict
from backend.planning import drafting
from backend.planning.explanation import registered
from backend.streams.queries import load_catalog
from backend.topologies.models import QueryAllowance
from optimizer.estimate import Estimated


@dataclass(frozen=True, slots=True)
class Limits:
    state_tuples: float
    """Tuples that the query alone may keep, as estimated."""
    tuple_rate: float
    """Tuples that one of its steps may make per second, as estimated."""
    state_bytes: float
    """Bytes that it may need in stores, as observed."""
    result_rate: float
    """Results that it may give per second, as observed."""


def limits_of(query: Query) -> Limits:
    """The limits of the query's team, or the installation's if it has none of its own."""
    own = query.team or Team()

    def limit(given: float | None, otherwise: float) -> float:
        return otherwise if given is None else given

    return Limits(
        state_tuples=limit(own.max_state_tuples, settings.MILLRACE_MAX_STATE_TUPLES),
        tuple_rate=limit(own.max_tuple_rate, settings.MILLRACE_MAX_TUPLE_RATE),
        state_bytes=limit(own.max_state_bytes, settings.MILLRACE_MAX_STATE_BYTES),
        result_rate=limit(own.max_result_rate, settings.MILLRACE_MAX_RESULT_RATE),
    )


def refuse_too_costly(caller: Caller, version: QueryVersion) -> None:
    """Raise `Conflict` if the query alone would keep or make too many tuples.

    Declared rates and selectivities count as they are, everything else with the least that is
    plausible: a guess must not keep a query out. An operator's allowance lets any query pass. Raises
    `TooMuchWork` when to estimate it takes more than a request may use.
    """
    query = version.query
    if QueryAllowance.objects.filter(query=query).exists():
        return
    texts, keys = texts_of([version.pk]), [version.pk]
    (expected,) = pool.plan(caller, drafting.estimates, keys, texts, registered(load_catalog()), "")
    excess = excess_expected(query, expected)
    if excess is not None:
        raise excess


def excess_expected(query: Query, expected: Estimated) -> Conflict | None:
    """The refusal of a query that is estimated to do so much; None if it may."""
    limits = limits_of(query)
    whose = "" if query.team is None else f" for team {query.team}"
    if expected.stored > limits.state_tuples:
        return Conflict(
            "too-much-state",
            f"{query.name} alone would keep {expected.stored:.3g} tuples, as estimated; "
            f"at most {limits.state_tuples:.3g} are allowed{whose}: shorten its windows, "
            "filter its streams, or ask an operator to allow it (MILLRACE_MAX_STATE_TUPLES)",
        )
    most = fastest_step(expected)
    if most > limits.tuple_rate:
        return Conflict(
            "too-many-tuples",
            f"{query.name} would make {most:.3g} tuples per second, as estimated; at most "
            f"{limits.tuple_rate:.3g} are allowed{whose}: join on more, declare selectivities "
            "that are known, or ask an operator to allow it (MILLRACE_MAX_TUPLE_RATE)",
        )
    return None


def estimates(versions: Sequence[QueryVersion], learnt: str) -> list[Estimated]:
    """What each of the queries alone is expected to do, in their order; for tasks.

    `learnt` is what a topology has measured (`Topology.learnt`); it goes before what is declared, and
    that before the least that is plausible.
    """
    keys = [version.pk for version in versions]
    return drafting.estimates(keys, texts_of(keys), registered(load_catalog()), learnt)


def fastest_step(expected: Estimated) -> float:
    """Tuples per second of the step that makes most of them."""
    return max(expected.rules.values(), default=0.0)
