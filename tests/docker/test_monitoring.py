"""Dashboard, alerts and runbook name metrics, services and alerts that are there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import yaml
from prometheus_client import REGISTRY

from backend.observation import registry
from backend.observation.topologies import Families
from tests.docker import compose
from tests.docker.compose import FOLDER, ROOT

MONITORING = FOLDER / "monitoring"
ALERTS = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((MONITORING / "grafana.json").read_text())
METRIC = re.compile(r"\bmillrace_[a-z_]+\b")


def _known() -> dict[str, set[str]]:
    """Every metric that we write, with its labels."""
    found = {family.name: set(family._labelnames) for family in Families()}
    for metric in (registry.REQUESTS, registry.TASKS):
        for ending in ("_count", "_sum", "_bucket"):
            found[metric._name + ending] = {*metric._labelnames, "le"}
    assert registry.registry() is REGISTRY
    return found


def _expressions() -> Iterator[str]:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield target["expr"]
    for one in DASHBOARD["templating"]["list"]:
        if one["type"] == "query":
            yield one["query"]["query"]
    for rule in ALERTS:
        yield rule["expr"]


def test_every_metric_that_is_asked_for_is_written() -> None:
    known = _known()
    asked = {name for expression in _expressions() for name in METRIC.findall(expression)}
    assert asked <= set(known), asked - set(known)
    topologies = {family.name for family in Families()}
    assert topologies - asked == {"millrace_topology_batch"}, "seen by nobody"


def test_every_label_that_is_asked_for_is_written() -> None:
    known = _known()
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            labels = set.union(*(known[name] for name in METRIC.findall(target["expr"])))
            assert shown <= labels, (panel["title"], shown - labels)


def test_a_dashboards_panels_do_not_overlap() -> None:
    corners = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(corners)) == len(corners) == len({panel["id"] for panel in DASHBOARD["panels"]})


def test_prometheus_asks_services_that_are_there() -> None:
    services = compose.load().services
    config = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())
    for job in config["scrape_configs"]:
        for target in job["static_configs"][0]["targets"]:
            name, port = target.split(":")
            service = services[name]
            said = [*(service.command or []), *service.environment.values()]
            assert port in said, target
    assert all((MONITORING / file).is_file() for file in config["rule_files"])


def test_every_alert_has_its_page_in_the_runbook() -> None:
    guide = (ROOT / "docs" / "guide" / "operations.md").read_text()
    runbook = guide.partition("\n## Alerts\n")[2].partition("\n## ")[0]
    headings = re.findall(r"^### (\w+)$", runbook, re.MULTILINE)
    assert [rule["alert"] for rule in ALERTS] == headings
