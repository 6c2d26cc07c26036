"""The URLs of pages and of the API, each from the room that answers it."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path, register_converter
from django.views.generic import RedirectView

from backend.accounts.pages import Login
from backend.alerts import pages as alert_pages
from backend.catalog import pages as catalog_pages
from backend.http import converters
from backend.observation.health import healthz, readyz
from backend.observation.pages import metrics
from backend.shell.icon import icon
from backend.shell.schema import Docs, Schema
from backend.streams import pages as stream_pages
from backend.tokens import pages as token_pages
from backend.topologies import pages as topology_pages

register_converter(converters.NameConverter, "name")
register_converter(converters.KeyConverter, "key")
register_converter(converters.RunConverter, "run")

handler400 = "backend.shell.refusals.bad_request"
handler403 = "backend.shell.refusals.forbidden"
handler404 = "backend.shell.refusals.not_found"
handler500 = "backend.shell.refusals.failed"

urlpatterns = [
    path("", RedirectView.as_view(url="/queries/")),
    path("login/", Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("queries/", catalog_pages.catalog, name="queries"),
    path("queries/new/", catalog_pages.new_query, name="new-query"),
    path("queries/<key:pk>/", catalog_pages.query, name="query"),
    path("convert/", catalog_pages.conversion, name="convert"),
    path("topologies/", topology_pages.topologies, name="topologies"),
    path("topologies/<name:name>/", topology_pages.topology, name="topology"),
    path("streams/", stream_pages.streams, name="streams"),
    path("streams/<name:name>/", stream_pages.stream, name="stream"),
    path("jobs/", topology_pages.jobs, name="jobs"),
    path("alerts/", alert_pages.alerts, name="alerts"),
    path("tokens/", token_pages.tokens, name="tokens"),
    path("favicon.ico", icon, name="icon"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("admin/", admin.site.urls),
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
    path("api/", include("backend.tokens.api.urls")),
    path("api/", include("backend.alerts.api.urls")),
    path("api/", include("backend.oracle.api.urls")),
    path("api/", include("backend.forecasts.api.urls")),
]
