"""The client: one method for each thing that a program does."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from backend.client import directory_documents, documents
from backend.client.connection import Connection
from backend.client.directory import Directory
from backend.client.directory_documents import Applied, DirectoryPlan
from backend.client.documents import Deployment, Page, Preview, Query, Result, Stream, Topology
from backend.client.errors import ClientError, Problem, Refused, Unreachable
from backend.client.tables import Table

URL = "http://localhost:8000"
_POLL_SECONDS = 1.0
_PAGE_RESULTS = 500
_WAIT_SECONDS = 20
"""That the server waits for a result before it answers with none."""
_TABLE_ROWS = 10_000
_AGAIN = (429, 502, 503, 504)
"""Statuses of a server that is busy or starting."""
_PLAN_SECONDS = 300.0
"""For all topologies of a directory, one after the other."""


class Millrace:
    """A Millrace server, seen by the owner of a token.

    Every method raises `Refused` when the server says no, and `Unreachable` when it says nothing.
    """

    def __init__(self, url: str, token: str) -> None:
        self._connection = Connection(url, token)

    @classmethod
    def from_environment(cls) -> Millrace:
        """The server at MILLRACE_URL (this machine's) for the token MILLRACE_TOKEN.

        Raises `ClientError` without a token.
        """
        url = os.environ.get("MILLRACE_URL") or URL
        token = os.environ.get("MILLRACE_TOKEN", "")
        if not token:
            raise ClientError(f"MILLRACE_TOKEN is not set: make a token on {url.rstrip('/')}/tokens/")
        return cls(url, token)

    def streams(self) -> tuple[Stream, ...]:
        return tuple(documents.stream(one) for one in self._connection.get("/api/streams/"))

    def send(self, stream: str, lines: bytes) -> int:
        """Append tuples, a JSON object per line, all or none; returns how many."""
        path = f"/api/streams/{stream}/events/"
        answer = self._connection.send("POST", path, lines, "application/x-ndjson")
        return int(answer["accepted"])

    def queries(self) -> tuple[Query, ...]:
        return tuple(documents.query(one) for one in self._connection.get("/api/queries/"))

    def query(self, name: str) -> Query:
        """The query of this name. Raises `ClientError` that lists what there is."""
        found = {one.name: one for one in self.queries()}
        if name not in found:
            there = ", ".join(sorted(found)) or "none yet"
            raise ClientError(f"there is no query {name}; there is {there}")
        return found[name]

    def topologies(self) -> tuple[Topology, ...]:
        return tuple(documents.topology(one) for one in self._connection.get("/api/topologies/"))

    def topology(self, name: str) -> Topology:
        return documents.topology(self._connection.get(f"/api/topologies/{name}/"))

    def check(self, sql: str, name: str = "query") -> tuple[Problem, ...]:
        """Everything that is wrong with a text; nothing if it has a meaning."""
        try:
            self._connection.post("/api/sql/explain/", {"sql": sql, "name": name})
        except Refused as refused:
            if refused.problems:
                return refused.problems
            raise
        return ()

    def preview(self, sql: str, name: str = "query", limit: int = 20) -> Preview:
        """The text's results over recent tuples; nothing is deployed."""
        body = {"sql": sql, "name": name, "limit": limit}
        return documents.preview(self._connection.post("/api/sql/preview/", body))

    def save(self, name: str, sql: str) -> Query:
        """Make a query, or a new version of the one with this name if the text differs."""
        there = [one for one in self.queries() if one.name == name]
        if there:
            return documents.query(
                self._connection.post(f"/api/queries/{there[0].id}/versions/", {"sql": sql})
            )
        return documents.query(self._connection.post("/api/queries/", {"name": name, "sql": sql}))

    def deploy(self, name: str, sql: str | None = None, topology: str | None = None) -> Deployment:
        """Let a topology answer a query; with `sql`, save it first.

        Returns as soon as the request is accepted; `wait` waits until it runs.
        """
        record = self.query(name) if sql is None else self.save(name, sql)
        body = {} if topology is None else {"topology": topology}
        return documents.deployment(self._connection.post(f"/api/queries/{record.id}/deploy/", body))

    def wait(self, deployment: Deployment, seconds: float) -> bool:
        """True as soon as the deployment runs, False if it does not in this time.

        Raises `ClientError` with the reason if it cannot be planned.
        """
        return self.wait_for_revision(deployment.topology, deployment.revision, seconds)

    def wait_for_revision(self, name: str, revision: int, seconds: float) -> bool:
        """True as soon as a topology runs a revision of its queries; otherwise as `wait`."""
        deadline = time.monotonic() + seconds
        while True:
            topology = self.topology(name)
            if topology.active_revision >= revision and topology.state in ("running", "idle"):
                return True
            if topology.deployment == "failed":
                raise ClientError(f"{topology.name} cannot take it: {topology.deployment_error}")
            if topology.state == "failed":
                raise ClientError(f"{topology.name} failed: {topology.error}")
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(_POLL_SECONDS, left))

    def undeploy(self, name: str) -> Deployment:
        """Take a query out of its topology."""
        record = self.query(name)
        return documents.deployment(self._connection.post(f"/api/queries/{record.id}/undeploy/"))

    def files_of_what_runs(self, topology: str | None = None) -> dict[str, str]:
        """What runs, or one topology does, as the texts of a directory by path."""
        parameters = {} if topology is None else {"topology": topology}
        files: dict[str, str] = self._connection.get("/api/directory/", **parameters)["files"]
        return files

    def plan_directory(self, directory: Directory, prune: bool = False) -> DirectoryPlan:
        """What applying a directory would change and cost; nothing is written."""
        body = {"name": directory.name, "files": directory.files, "prune": prune}
        answer = self._connection.post("/api/directory/plan/", body, _PLAN_SECONDS)
        return directory_documents.directory_plan(answer)

    def apply_directory(self, directory: Directory, prune: bool = False) -> Applied:
        """Make everything as a directory says, or nothing."""
        body = {"name": directory.name, "files": directory.files, "prune": prune}
        answer = self._connection.post("/api/directory/apply/", body, _PLAN_SECONDS)
        return directory_documents.applied(answer)

    def start(self, topology: str) -> Topology:
        return documents.topology(self._connection.post(f"/api/topologies/{topology}/start/"))

    def stop(self, topology: str, drain: bool = False) -> Topology:
        """End a topology's job after its running batch, or with all that has arrived."""
        body = {"mode": "drain" if drain else "now"}
        return documents.topology(self._connection.post(f"/api/topologies/{topology}/stop/", body))

    def results(self, name: str, limit: int = 20) -> tuple[Result, ...]:
        """The newest results of a query, oldest first."""
        return self._results(self.query(name).id, limit)

    def tail(self, name: str, limit: int = 20) -> Iterator[Result]:
        """The newest results, then each as it comes, without end.

        The server keeps a query's newest thousand: of more than that between two looks, a second apart, the
        oldest are left out.
        """
        number, last = self.query(name).id, (0, 0)
        while True:
            for one in self._results(number, limit):
                if _order(one.id) > last:
                    last = _order(one.id)
                    yield one
            limit = _PAGE_RESULTS
            time.sleep(_POLL_SECONDS)

    def pages(self, name: str, since: str | int | None = None, limit: int = 1000) -> Iterator[Page]:
        """A query's results without loss, page by page; empty ones while nothing comes.

        Keep a page's `cursor` with what was done of it, and go on from there after whatever happens: every
        result comes once. A server that is away for a moment is asked again.

        Args:
            since: a cursor, the number of a batch that the server still keeps, or `earliest` for all that it
                keeps; what comes from now on if it is None.
            limit: of the rows of a page.

        Raises `Refused` where what follows is no longer kept (status 410), or results are not kept at all.
        """
        path = f"/api/queries/{self.query(name).id}/subscription/"
        cursor = "" if since is None else str(since)
        while True:
            try:
                answer = self._connection.get(path, since=cursor, limit=limit, wait=_WAIT_SECONDS)
            except (Unreachable, Refused) as error:
                if isinstance(error, Refused) and error.status not in _AGAIN:
                    raise
                if not cursor:
                    # Where it began is not known yet, so what came meanwhile would be missed.
                    raise
                time.sleep(_POLL_SECONDS)
                continue
            page = documents.page(answer)
            cursor = page.cursor
            yield page

    def subscribe(self, name: str, since: str | int | None = None) -> Iterator[Result]:
        """A query's results without loss, one by one; otherwise as `pages`.

        A result's `id` is the cursor of the page that it came with.
        """
        for page in self.pages(name, since):
            for batch, row in zip(page.batches, page.rows, strict=True):
                yield Result(page.cursor, batch, row)

    def table(self, name: str, since: str | int, limit: int | None = None) -> Table:
        """What there is of a query's results as a table.

        It begins with `since`: a cursor, a batch or `earliest`. `limit` bounds its rows.

        Raises `ClientError` where Arrow's library (pyarrow) is not installed.
        """
        path = f"/api/queries/{self.query(name).id}/subscription/"
        parts, cursor, left, more = [], str(since), limit, True
        while more and (left is None or left > 0):
            most = _TABLE_ROWS if left is None else min(_TABLE_ROWS, left)
            body, headers = self._connection.get_bytes(path, since=cursor, limit=most, form="arrow")
            parts.append(body)
            cursor, more = headers["Millrace-Cursor"], headers["Millrace-More"] == "true"
            if left is not None:
                left -= Table.rows_of(body)
        return Table.of(parts, cursor)

    def _results(self, number: int, limit: int) -> tuple[Result, ...]:
        found = self._connection.get(f"/api/queries/{number}/results/", limit=limit)
        newest_first = zip(found["ids"], found["batches"], found["rows"], strict=True)
        return tuple(Result(entry, batch, row) for entry, batch, row in newest_first)[::-1]


def _order(entry: str) -> tuple[int, int]:
    milliseconds, _, number = entry.partition("-")
    return int(milliseconds), int(number or 0)
