from __future__ import annotations

from django.shortcuts import get_object_or_404

from backend.accounts.reading import Reads
from backend.catalog.queries import readable_queries
from backend.shell.pages import Page, Props
from optimizer.udf.reader import allowed_functions


def offered_functions() -> list[dict[str, str]]:
    """The user functions that the editor completes, with what they take and cost."""
    return [
        {
            "sql": function.name,
            "signature": f"{function.signature} → {function.returns}, "
            + ("cost measured" if function.cost_us is None else f"{function.cost_us:g} µs per pair"),
        }
        for function in allowed_functions()
    ]


class QueryPage(Page):
    """The editor of one query, or of a new one."""

    island = "editor"
    title = "New query"
    reads = Reads.QUERY
    section = "queries"

    def props(self) -> Props:
        key = self.kwargs.get("pk")
        if key is not None:
            self.title = get_object_or_404(readable_queries(self.request.user), pk=key).name
        return {"queryId": key, "functions": offered_functions()}
