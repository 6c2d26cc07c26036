"""The layers of each package: who may import whom, as ARCHITECTURE.md shows it and a test enforces it."""

from __future__ import annotations

LAYERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "optimizer": (
        ("algebra",),
        ("udf",),
        ("logical", "search"),
        ("physical", "sql", "methods"),
        ("statistics", "conversion"),
        ("estimate", "formulate", "partitioning", "workload"),
        ("lower",),
        ("planner",),
        ("adaptation", "explain"),
        ("cli",),
        ("__main__",),
    ),
    "optimizer.methods": (("solution",), ("heuristic",), ("ilp", "trees"), ("__init__",)),
    "jobs": (
        ("plan", "protocol"),
        ("expressions",),
        ("failures", "storage"),
        ("aggregation", "join", "partitioning"),
        ("recovery",),
        ("metrics", "sources"),
        ("sinks",),
        ("worker",),
        ("reconfigure", "spark"),
        ("driver",),
        ("control_plane",),
        ("shapes",),
        ("adaptation", "calibration", "verification"),
        ("cli",),
        ("__main__",),
    ),
    "backend": (
        ("client", "celery", "errors", "privacy"),
        ("environment",),
        ("bounded", "redis", "settings"),
        ("asgi", "http", "run"),
        ("accounts",),
        ("shell",),
        ("second_factor", "sign_on", "streams"),
        ("catalog", "tokens"),
        ("service_accounts", "topologies"),
        ("applied", "dead_letters", "oracle"),
        ("live",),
        ("alerts", "costs", "forecasts", "history"),
        ("planning",),
        ("limits",),
        ("runs",),
        ("deployments", "observation"),
        ("demo", "overview", "workloads"),
        ("urls",),
    ),
}
"""By package, its rooms from the lowest layer to the highest. A room imports from lower layers only, never
from its neighbours in the same one."""
