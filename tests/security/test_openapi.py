"""Requests made up from our own OpenAPI document: an answer may refuse, but is never a 500."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, Phase, settings

from backend.catalog.models import Query

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = json.loads((ROOT / "frontend/src/api/openapi.json").read_text())
schema = schemathesis.openapi.from_dict(DOCUMENT)
EXAMPLES = int(os.environ.get("MILLRACE_FUZZ_EXAMPLES", "10"))


@pytest.fixture(autouse=True)
def _no_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    from rest_framework.throttling import SimpleRateThrottle

    monkeypatch.setattr(SimpleRateThrottle, "allow_request", lambda *_: True)


@pytest.mark.django_db
@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_is_a_fault_of_ours(
    case: schemathesis.Case, operator: User, as_operator: Client, query: Query
) -> None:
    as_operator.raise_request_exception = False
    parts = case.as_transport_kwargs(base_url="http://localhost")
    path = parts["url"].removeprefix("http://localhost")
    body = parts.get("data")
    content = body if body is not None else json.dumps(parts["json"]) if "json" in parts else ""
    answer = as_operator.generic(
        case.method,
        path,
        content if isinstance(content, str | bytes) else str(content),
        content_type=(parts.get("headers") or {}).get("Content-Type", "application/json"),
        query_params=parts.get("params") or {},
    )
    assert answer.status_code < 500 or answer.status_code == 503, (case.method, path, content)
