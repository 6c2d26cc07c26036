"""Results posted to a URL, in order, each again until the receiver has taken it.

What the receiver has taken is written beside the checkpoint behind each answer. A process that dies between
the two posts that request again: each has a key, by which a receiver knows it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from jobs.protocol.webhooks import NotAllowed, NotDelivered, Policy, post
from jobs.sinks.connector import BatchResults, read_results
from jobs.sinks.redis_tail import to_json
from jobs.sinks.webhook.record import Begun, Per, Record
from jobs.sources.connector import Away

KEY = "Idempotency-Key"
MOST_ROWS = 1000
"""Results of one request, if it carries a batch's."""


class WebhookSink:
    """Publishes to a URL.

    Arguments: the URL; the secret that requests are signed with; whom this installation posts to; the
    checkpoint's id; the file that says what the receiver has; what a request carries.
    """

    def __init__(
        self, url: str, secret: str, policy: Policy, identity: str, record: Path, per: Per = "batch"
    ) -> None:
        self._url = url
        self._secret = secret
        self._policy = policy
        self._identity = identity
        self._record = Record(record)
        self._per: Per = per

    def connect(self) -> int:
        return self._record.last_batch()

    def publish(self, results: BatchResults) -> None:
        """Post what the receiver does not have of the batch, query by query."""
        begun = self._record.begin(results.batch, self._per)
        for query, files in sorted(results.by_query().items()):
            begun = self._post_query(query, read_results(files), results, begun)
        self._record.end(results.batch)

    def _post_query(self, query: str, table: pa.Table, results: BatchResults, begun: Begun) -> Begun:
        # A result's place is the same each time: files keep their order, and rows theirs within one.
        size = MOST_ROWS if begun.per == "batch" else 1
        for place in range(begun.taken.get(query, 0), table.num_rows, size):
            head, name = self._head(query, results), quote(query, safe="")
            rows = to_json(table.slice(place, size))
            if begun.per == "batch":
                part = place // size
                key = f"{self._identity}-{results.batch}-{part}-{name}"
                head |= {"part": part, "parts": -(-table.num_rows // size)}
                carried = f'"results": [{",".join(rows)}]'
            else:
                key = f"{self._identity}-{results.batch}-result-{place}-{name}"
                head |= {"place": place, "places": table.num_rows}
                carried = f'"result": {rows[0]}'
            self._post(f"{json.dumps(head)[:-1]}, {carried}}}".encode(), key)
            begun = self._record.keep(begun.with_taken(query, place + len(rows)))
        return begun

    def _head(self, query: str, results: BatchResults) -> dict[str, Any]:
        keyed = results.tables.get(query)
        return {
            "version": 1,
            "checkpoint": self._identity,
            "batch": results.batch,
            "query": query,
            "complete_since_us": results.complete_since_us.get(query),
            **({} if keyed is None else {"key": keyed.key, "begin": keyed.begin}),
        }

    def _post(self, body: bytes, key: str) -> None:
        try:
            post(self._url, body, self._secret, self._policy, {KEY: key})
        except (NotAllowed, NotDelivered) as error:
            # Also one that is not allowed: names get other addresses, and results wait until then.
            raise Away(str(error)) from error
