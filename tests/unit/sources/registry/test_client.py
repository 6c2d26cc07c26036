"""What the registry is asked, how often, and what it is when it does not answer."""

from __future__ import annotations

import pytest

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
