"""What the registry is asked, how often, and what it is when it does not answer."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from jobs.sources.connector import Away
from jobs.sources.registry.client import NotThere, Reference, Schemas
from jobs.sources.registry.deployment import Registry, configured
from optimizer.algebra.errors import InputError
from tests.registry.stand_in import StandIn

URL = "MILLRACE_SCHEMA_REGISTRY_URL"
LONG = {"type": "record", "name": "a", "fields": [{"name": "n", "type": "long"}]}


def test_a_schema_is_asked_for_once(registry: StandIn, schemas: Schemas) -> None:
    number = registry.register("a-value", LONG)
    first = schemas.numbered(number)
    registry.stop()
    assert schemas.numbered(number) == first
    assert registry.asked == [f"/schemas/ids/{number}"]


def test_the_newest_version_is_asked_for_anew(registry: StandIn, schemas: Schemas) -> None:
    first = registry.register("a-value", LONG)
    assert schemas.latest("a-value").number == first
    second = registry.register("a-value", {**LONG, "fields": []})
    assert schemas.latest("a-value").number == second != first


def test_what_is_not_there_is_told_from_a_registry_that_is_away(registry: StandIn, schemas: Schemas) -> None:
    with pytest.raises(NotThere, match="Schema 7 not found"):
        schemas.numbered(7)
    with pytest.raises(NotThere, match="Subject 'a-value' not found"):
        schemas.latest("a-value")
    registry.register("a-value", LONG)
    with pytest.raises(NotThere, match="Version 2 not found"):
        schemas.referenced(Reference("a", "a-value", 2))
    registry.broken = True
    with pytest.raises(Away, match="answers 500"):
        schemas.numbered(8)
    registry.stop()
    with pytest.raises(Away, match="does not answer"):
        schemas.numbered(8)


def test_an_address_of_something_else_is_no_unknown_schema(registry: StandIn) -> None:
    registry.register("a-value", LONG)
    with pytest.raises(Away, match="answers 404"):
        Schemas(Registry(f"{registry.url}/elsewhere")).numbered(1)


def test_a_login_is_sent_and_a_wrong_one_is_told_without_it(registry: StandIn) -> None:
    registry.login = ("millrace", "secret")
    registry.register("a-value", LONG)
    assert Schemas(Registry(registry.url, ("millrace", "secret"))).numbered(1).kind == "AVRO"
    with pytest.raises(Away) as refused:
        Schemas(Registry(registry.url, ("millrace", "guessed"))).numbered(1)
    assert "answers 401" in str(refused.value)
    assert "guessed" not in str(refused.value)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def behind_tls(authority: trustme.CA) -> Iterator[StandIn]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server = StandIn(("millrace", "secret"), context).start()
    yield server
    server.stop()


def _registry(server: StandIn, authority: Path | None) -> Registry:
    given = {
        URL: server.url,
        "MILLRACE_SCHEMA_REGISTRY_USERNAME": "millrace",
        "MILLRACE_SCHEMA_REGISTRY_PASSWORD": "secret",
    }
    if authority is not None:
        given["MILLRACE_SCHEMA_REGISTRY_CA"] = str(authority)
    found = configured(given)
    assert found is not None
    return found


def test_a_registry_behind_tls_is_trusted_by_the_deployments_authority(
    behind_tls: StandIn, authority: trustme.CA, tmp_path: Path
) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    behind_tls.register("a-value", LONG)
    assert Schemas(_registry(behind_tls, tmp_path / "ca.pem")).numbered(1).kind == "AVRO"


def test_a_registry_that_another_authority_speaks_for_is_away_in_one_line(
    behind_tls: StandIn, tmp_path: Path
) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "other.pem")
    behind_tls.register("a-value", LONG)
    for trusted in (tmp_path / "other.pem", None):
        with pytest.raises(Away) as told:
            Schemas(_registry(behind_tls, trusted), tries=0).numbered(1)
        assert "certificate verify failed" in str(told.value)
        assert len(str(told.value).splitlines()) == 1
        assert "secret" not in str(told.value)
    assert behind_tls.asked == [], "no login goes to a registry that is not trusted"


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_that_has_no_authority_is_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(InputError) as told:
        Schemas(Registry("https://127.0.0.1:1", None, str(file)))
    assert str(told.value).startswith(f"environment: MILLRACE_SCHEMA_REGISTRY_CA: found {file}: ")
    assert len(str(told.value).splitlines()) == 1


def test_the_deployments_registry() -> None:
    given = {
        URL: "https://a:8081/, https://b:8081",
        "MILLRACE_SCHEMA_REGISTRY_USERNAME": "u",
        "MILLRACE_SCHEMA_REGISTRY_PASSWORD": "secret:with",
        "MILLRACE_SCHEMA_REGISTRY_CA": "/etc/ca.pem",
    }
    found = configured(given)
    assert found == Registry("https://a:8081,https://b:8081", ("u", "secret:with"), "/etc/ca.pem")
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    "url", ["registry:8081", "http://", "ftp://registry", "http://u:secret@registry:8081"]
)
def test_an_address_that_cannot_be_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InputError) as refused:
        configured({URL: url})
    assert refused.value.place.path == URL
    assert "secret" not in str(refused.value)
