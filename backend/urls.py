"""The URLs of pages and of the API, each from the room that answers it."""

from django.contrib.auth.views import LogoutView
from django.urls import include, path, register_converter

from backend.accounts.pages import Login
from backend.audit_trail.pages import AuditPage
from backend.catalog.pages import QueryPage
from backend.http import converters
from backend.observation.health import healthz, readyz
from backend.observation.pages import metrics
from backend.persons.pages import AccountsPage
from backend.shell.icon import icon
from backend.shell.pages import Page
from backend.shell.schema import Docs, Schema
from backend.streams.pages import StreamPage
from backend.topologies.pages import TopologyPage

register_converter(converters.NameConverter, "name")
register_converter(converters.KeyConverter, "key")
register_converter(converters.RunConverter, "run")

handler400 = "backend.shell.refusals.bad_request"
handler403 = "backend.shell.refusals.forbidden"
handler404 = "backend.shell.refusals.not_found"
handler500 = "backend.shell.refusals.failed"

urlpatterns = [
    path("", Page.as_view(island="overview", title="Overview"), name="overview"),
    path("login/", Login.as_view(), name="login"),
    path("", include("backend.sign_on.urls")),
    path("", include("backend.second_factor.urls")),
    path("logout/", LogoutView.as_view(), name="logout"),
    path(
        "queries/",
        Page.as_view(
            island="catalog", title="Queries", section="queries", template_name="catalog/catalog.html"
        ),
        name="queries",
    ),
    path("queries/new/", QueryPage.as_view(), name="new-query"),
    path("queries/<key:pk>/", QueryPage.as_view(), name="query"),
    path("convert/", Page.as_view(island="conversion", title="Convert", section="convert"), name="convert"),
    path("topologies/", TopologyPage.as_view(), name="topologies"),
    path("topologies/<name:name>/", TopologyPage.as_view(), name="topology"),
    path("streams/", Page.as_view(island="streams", title="Streams"), name="streams"),
    path("streams/<name:name>/", StreamPage.as_view(), name="stream"),
    path("jobs/", Page.as_view(island="jobs", title="Jobs"), name="jobs"),
    path("accounts/", AccountsPage.as_view(), name="accounts"),
    path("", include("backend.persons.urls")),
    path("audit/", AuditPage.as_view(), name="audit"),
    path("costs/", Page.as_view(island="costs", title="Costs"), name="costs"),
    path("alerts/", Page.as_view(island="alerts", title="Alerts"), name="alerts"),
    path("teams/", Page.as_view(island="teams", title="Teams"), name="teams"),
    path("tokens/", Page.as_view(island="tokens", title="Tokens"), name="tokens"),
    path("favicon.ico", icon, name="icon"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("api/schema/", Schema.as_view(), name="schema"),
    path("api/docs/", Docs.as_view(url_name="schema"), name="docs"),
    path("api/", include("backend.accounts.api.urls")),
    path("api/", include("backend.streams.api.urls")),
    path("api/", include("backend.catalog.api.urls")),
    path("api/", include("backend.live.api.urls")),
    path("api/", include("backend.planning.api.urls")),
    path("api/", include("backend.runs.api.urls")),
    path("api/", include("backend.deployments.api.urls")),
    path("api/", include("backend.dead_letters.api.urls")),
    path("api/", include("backend.persons.api.urls")),
    path("api/", include("backend.tokens.api.urls")),
    path("api/", include("backend.service_accounts.api.urls")),
    path("api/", include("backend.alerts.api.urls")),
    path("api/", include("backend.oracle.api.urls")),
    path("api/", include("backend.forecasts.api.urls")),
    path("api/", include("backend.history.api.urls")),
    path("api/", include("backend.costs.api.urls")),
    path("api/", include("backend.budgets.api.urls")),
    path("api/", include("backend.audit_trail.api.urls")),
    path("api/", include("backend.overview.api.urls")),
    path("api/", include("backend.workloads.api.urls")),
]
