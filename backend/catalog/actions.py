"""Changing the catalog of queries."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from backend.accounts.queries import may_edit, may_write, refuse_viewers
from backend.accounts.quotas import Resource, claim
from backend.accounts.reading import reads_team, told
from backend.audit.actions import Subject
from backend.audit.actions import record as note
from backend.audit.changes import changed
from backend.bounded.caller import calling
from backend.catalog.language import Draft, read_draft
from backend.catalog.models import Query, QueryVersion, Tag, VersionInput, VersionOutput
from backend.errors import Conflict, Forbidden, InputErrors
from backend.streams.actions import team_to_give
from backend.streams.models import Stream
from backend.streams.signals import name_wanted
from optimizer.logical.query import registered_inputs


def create_query(owner: User, name: str, sql: str, description: str = "", tags: Sequence[str] = ()) -> Query:
    """A new query with its first version.

    Raises `InputErrors` for a text without meaning, `Conflict` when the name is taken.
    """
    refuse_viewers(owner, "write queries")
    _refuse_taken(owner, name)
    return store_query(owner, name, sql, _checked(owner, sql, name), description, tags)


def store_query(
    owner: User, name: str, sql: str, draft: Draft, description: str = "", tags: Sequence[str] = ()
) -> Query:
    """As `create_query`, of a text that was read already; the draft has its meaning.

    Raises `Conflict` when the name is taken, or the owner has as many queries as it may.
    """
    refuse_viewers(owner, "write queries")
    _refuse_taken(owner, name)
    try:
        with transaction.atomic():
            claim(owner, Resource.QUERIES)
            record = Query.objects.create(name=name, description=description, owner=owner)
            _write_tags(record, tags)
            _write_version(record, owner, sql, draft, number=1)
            said: dict[str, object] = {"sql": sql, "description": description, "tags": sorted(set(tags))}
            changes = changed({"description": "", "tags": []}, said)
            note(owner, "create", _about(record), changes=changes)
    except IntegrityError as error:
        raise Conflict("name-taken", f"there is a query {name} already") from error
    return record


def add_version(account: User, record: Query, sql: str) -> bool:
    """Give the query a new text; False if it is the one that it has.

    Raises `InputErrors`; `Conflict` when somebody else wrote a version meanwhile.
    """
    _refuse_others(account, record)
    present = record.current
    assert present is not None  # only a query that is being created has none
    if present.sql == sql:
        return False
    store_version(account, record, sql, _checked(account, sql, record.name))
    return True


def store_version(account: User, record: Query, sql: str, draft: Draft) -> QueryVersion:
    """As `add_version`, of a text that was read already.

    The same text is another version if what it reads is.
    """
    _refuse_others(account, record)
    present = record.current
    assert present is not None  # only a query that is being created has none
    try:
        with transaction.atomic():
            claim(account, Resource.VERSIONS, record.versions.all(), record.name)
            version = _write_version(record, account, sql, draft, number=present.number + 1)
            before = {"version": present.number, "sql": present.sql}
            changes = changed(before, {"version": version.number, "sql": sql})
            note(account, "change", _about(record), changes=changes)
            return version
    except IntegrityError as error:
        raise Conflict(
            "version-written", f"somebody wrote {record.name} v{present.number + 1}; reload"
        ) from error


def describe_query(
    account: User,
    record: Query,
    description: str | None = None,
    tags: Sequence[str] | None = None,
) -> None:
    """Change the description or the tags; None leaves them."""
    _refuse_others(account, record)
    with transaction.atomic():
        before = _described(record)
        if description is not None:
            record.description = description
        if tags is not None:
            _write_tags(record, tags)
        record.save()
        if changes := changed(before, _described(record)):
            note(account, "change", _about(record), changes=changes)


def mark_favourite(account: User, record: Query, wanted: bool) -> None:
    """Keep the query among the account's favourites, or no longer."""
    if wanted:
        record.favourite_of.add(account)
    else:
        record.favourite_of.remove(account)


def transfer_query(account: User, record: Query, owner: str, team: str | None) -> None:
    """Transfer a query to another owner, and to a team whose authors may change it.

    Raises `Forbidden` unless the account may change the query and belongs to the team or operates;
    `Conflict` for an account or team that there is not, or an owner who may only read.
    """
    _refuse_others(account, record)
    heir = get_user_model().objects.filter(username=owner, is_active=True).first()
    if heir is None:
        raise Conflict("no-such-account", f"there is no account {owner}")
    if not may_write(heir):
        raise Conflict("viewers-only-read", f"{owner} is a viewer and cannot own a query")
    present = None if record.team is None else record.team.name
    if team != present:
        record.team = None if team is None else team_to_give(account, team)
    if not reads_team(heir, record.team, heir.pk):
        raise Conflict("not-in-team", f"{owner} is not in {record.team}, which is private")
    before = {"owner": str(record.owner), "team": present}
    record.owner = heir
    with transaction.atomic():
        record.save(update_fields=["owner", "team", "updated_at"])
        if changes := changed(before, {"owner": owner, "team": team}):
            note(account, "transfer", _about(record), changes=changes)


def delete_query(account: User, record: Query) -> None:
    """Forget a query that is neither deployed nor read, its versions and its results."""
    _refuse_others(account, record)
    with transaction.atomic():
        deployment = getattr(record, "deployment", None)
        if deployment is not None:
            raise Conflict(
                "query-deployed", f"{deployment.topology} answers {record.name}; undeploy it first"
            )
        readers = QueryVersion.objects.filter(reads__query=record).exclude(query=record)
        names = sorted(set(readers.values_list("query__name", flat=True)))
        if names:
            raise Conflict("query-in-use", f"{told(account, names)} read {record.name}")
        note(account, "delete", _about(record))
        Query.objects.filter(pk=record.pk).update(current=None)
        Query.objects.get(pk=record.pk).delete()


def _about(record: Query) -> Subject:
    return Subject.of("query", record)


def _described(record: Query) -> dict[str, object]:
    tags = sorted(record.tags.values_list("name", flat=True))
    return {"description": record.description, "tags": tags}


def _refuse_taken(owner: User, name: str) -> None:
    name_wanted.send(sender=Query, name=name, account=owner)
    if Stream.objects.filter(name=name).exists():
        raise Conflict("name-taken", f"a stream is called {name}; streams and queries share their names")


def _checked(author: User, sql: str, name: str) -> Draft:
    draft = read_draft(author, calling(author), sql, name)
    if draft.query is None:
        raise InputErrors(draft.errors)
    return draft


def _refuse_others(account: User, record: Query) -> None:
    if not may_edit(account, record.owner_id, record.team_id):
        raise Forbidden("not-yours", f"{record.owner} owns {record.name}; save yours under another name")


def _write_tags(record: Query, names: Sequence[str]) -> None:
    record.tags.set([Tag.objects.get_or_create(name=name)[0] for name in sorted(set(names))])


def _write_version(record: Query, author: User, sql: str, draft: Draft, number: int) -> QueryVersion:
    query = draft.query
    assert query is not None  # `_checked` raised otherwise
    version = QueryVersion.objects.create(query=record, number=number, sql=sql, created_by=author)
    version.reads.set(draft.reads)
    inputs = registered_inputs(query)
    streams = {stream.name: stream for stream in Stream.objects.filter(name__in={i.stream for i in inputs})}
    VersionInput.objects.bulk_create(
        VersionInput(
            version=version,
            alias=source.alias,
            stream=streams[source.stream],
            window_ms=source.window.milliseconds,
        )
        for source in inputs
    )
    VersionOutput.objects.bulk_create(
        VersionOutput(version=version, position=position, name=output.name, type=output.expression.type.value)
        for position, output in enumerate(query.outputs)
    )
    record.current = version
    record.save()
    return version
