"""Results posted to a URL, in order, each again until the receiver has taken it.

Which batch the receiver has taken is written beside the checkpoint behind its last answer. A process that
dies between the two posts the batch again: each request has a key, by which a receiver knows it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from jobs.protocol.webhooks import NotAllowed, NotDelivered, Policy, post
from jobs.recovery.manifest import write_durably
from jobs.sinks.connector import BatchResults, read_results
from jobs.sinks.redis_tail import to_json
from jobs.sources.connector import Away

KEY = "Idempotency-Key"
MOST_ROWS = 1000
"""Results of one request."""
_NOTHING = -1


class WebhookSink:
    """Publishes to a URL.

    Arguments: the URL; the secret that requests are signed with; whom this installation posts to; the
    checkpoint's id; the file that says which batch the receiver has.
    """

    def __init__(self, url: str, secret: str, policy: Policy, identity: str, record: Path) -> None:
        self._url = url
        self._secret = secret
        self._policy = policy
        self._identity = identity
        self._record = record

    def connect(self) -> int:
        if not self._record.exists():
            return _NOTHING
        return int(json.loads(self._record.read_bytes())["batch"])

    def publish(self, results: BatchResults) -> None:
        """Post the batch, query by query."""
        for query, files in sorted(results.by_query().items()):
            for part, body in enumerate(self._bodies(query, read_results(files), results)):
                key = f"{self._identity}-{results.batch}-{part}-{quote(query, safe='')}"
                try:
                    post(self._url, body, self._secret, self._policy, {KEY: key})
                except (NotAllowed, NotDelivered) as error:
                    # Also one that is not allowed: names get other addresses, and results wait until then.
                    raise Away(str(error)) from error
        write_durably(self._record, json.dumps({"batch": results.batch}).encode())

    def _bodies(self, query: str, table: pa.Table, results: BatchResults) -> Iterator[bytes]:
        parts, keyed = range(0, table.num_rows, MOST_ROWS), results.tables.get(query)
        for part, begin in enumerate(parts):
            head = {
                "version": 1,
                "checkpoint": self._identity,
                "batch": results.batch,
                "query": query,
                "complete_since_us": results.complete_since_us.get(query),
                **({} if keyed is None else {"key": keyed.key, "begin": keyed.begin}),
                "part": part,
                "parts": len(parts),
            }
            rows = ",".join(to_json(table.slice(begin, MOST_ROWS)))
            yield f'{json.dumps(head)[:-1]}, "results": [{rows}]}}'.encode()
