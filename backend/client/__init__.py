"""The client library and the command line `millrace` (`millrace deploy q.sql`).

Needs nothing but Python, so that it can be installed where no server runs:

    from backend.client import Millrace

    millrace = Millrace.from_environment()        # MILLRACE_URL, MILLRACE_TOKEN
    millrace.deploy("late", "SELECT ...")
    for result in millrace.tail("late"):
        print(result.row)
"""

from backend.client.documents import Deployment, Query, Result, Stream, Topology
from backend.client.errors import ClientError, Refused, Unreachable
from backend.client.millrace import Millrace

__all__ = [
    "ClientError",
    "Deployment",
    "Millrace",
    "Query",
    "Refused",
    "Result",
    "Stream",
    "Topology",
    "Unreachable",
]
