"""What `make audit` makes of what the tools print."""

from __future__ import annotations

import importlib.util
import json
import sys
from types import ModuleType

import pytest

from tests.docker.compose import ROOT


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The bootstrap's module; its folder is no package."""
    folder = ROOT / "docker" / "bootstrap"
    monkeypatch.syspath_prepend(str(folder))
    specification = importlib.util.spec_from_file_location("millrace_audit", folder / "audit.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "millrace_audit", module)
    specification.loader.exec_module(module)
    return module


def test_a_weakness_is_told_with_what_mends_it(audit: ModuleType) -> None:
    document = {
        "dependencies": [
            {"name": "good", "version": "1", "vulns": []},
            {"name": "bad", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]},
        ]
    }
    found = audit.read_pip_audit(json.dumps(document), "")
    assert found == audit.Verdict(("bad 2: PYSEC-1, mended in 2.1",))
    tree = {"vulnerabilities": {"vite": {"severity": "high", "range": "<5.0.1"}}}
    assert audit.read_npm_audit(json.dumps(tree), "") == audit.Verdict(("vite: high, <5.0.1",))


def test_nothing_known_is_not_nothing_said(audit: ModuleType) -> None:
    clean = audit.read_pip_audit('{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}', "")
    assert clean == audit.Verdict()
    assert audit.read_npm_audit('{"vulnerabilities": {}}', "") == audit.Verdict()
    assert audit.read_pip_audit("", "a\nno route to host\n").why_not == "no route to host"
    errors = "npm warn old\nnpm error the endpoint is away\nnpm error A complete log of this run\n"
    found = audit.read_npm_audit('{"error": {"code": "E503"}}', errors)
    assert found.why_not == "npm error the endpoint is away"
    skipped = '{"dependencies": [{"name": "a", "skip_reason": "not found"}]}'
    assert audit.read_pip_audit(skipped, "").why_not == "1 of 1 packages could not be looked up, a: not found"


@pytest.mark.parametrize(
    ("python", "node", "code"),
    [((), (), 0), (("bad 1",), None, 1), (None, ("bad 1",), 1), (None, (), 3), ((), None, 3)],
)
def test_what_was_not_looked_at_never_looks_clean(
    audit: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    python: tuple[str, ...] | None,
    node: tuple[str, ...] | None,
    code: int,
) -> None:
    def verdict(found: tuple[str, ...] | None) -> object:
        return audit.Verdict(why_not="no route") if found is None else audit.Verdict(found)

    monkeypatch.setattr(audit, "_python", lambda: verdict(python))
    monkeypatch.setattr(audit, "_node", lambda: verdict(node))
    assert audit.audit() == code
