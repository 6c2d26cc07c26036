"""The client library and the command line `millrace` (`millrace deploy q.sql`).

Needs nothing but Python, so that it can be installed where no server runs:

    from backend.client import Millrace

    millrace = Millrace.from_environment()        # MILLRACE_URL, MILLRACE_TOKEN
    millrace.deploy("late", "SELECT ...")
    for result in millrace.tail("late"):
        print(result.row)
    for page in millrace.pages("late", since=cursor):   # without loss, from where the program was
        ...
    millrace.table("late", since="earliest").polars()    # or .pandas(), .arrow(), where they are installed
"""

from backend.client.documents import Deployment, Page, Query, Result, Stream, Topology
from backend.client.errors import ClientError, Refused, Unreachable
from backend.client.millrace import Millrace
from backend.client.tables import Table

__all__ = [
    "ClientError",
    "Deployment",
    "Millrace",
    "Page",
    "Query",
    "Refused",
    "Result",
    "Stream",
    "Table",
    "Topology",
    "Unreachable",
]
