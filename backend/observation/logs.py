"""Log records as JSON, one per line, with the ids that a search starts from."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

IDS = ("topology", "query", "run", "batch", "plan", "revision", "account")
"""What a call of a logger may say by `extra`."""


class JSONFormatter(logging.Formatter):
    """Log records as JSON, one object per line.

    >>> record = logging.makeLogRecord({"name": "a", "msg": "n %d", "args": (1,), "created": 0.0,
    ...                                 "levelname": "INFO", "topology": "flights"})
    >>> sorted(json.loads(JSONFormatter().format(record)))
    ['at', 'level', 'logger', 'message', 'topology']
    """

    def format(self, record: logging.LogRecord) -> str:
        document: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        document |= {name: getattr(record, name) for name in IDS if hasattr(record, name)}
        if record.exc_info:
            document["traceback"] = self.formatException(record.exc_info)
        return json.dumps(document, default=str, ensure_ascii=False)
