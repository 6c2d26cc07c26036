"""The fixtures of the API's tests."""

from __future__ import annotations

from tests.api.conftest import (  # noqa: F401
    _product,
    anonymous,
    as_operator,
    as_outsider,
    as_owner,
    as_teammate,
    bus,
    operator,
    outsider,
    owner,
    post,
    query,
    redis_url,
    streams,
    team,
    teammate,
)
