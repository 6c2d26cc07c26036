from django.urls import path

from backend.live.api.chart import QueryChart
from backend.live.api.events import Events
from backend.live.api.results import QueryDownload, QueryResults
from backend.live.api.subscription import QuerySubscription, QuerySubscriptionEvents
from backend.live.api.views import QueryFigures, ResultProvenance, Snapshot, StreamArrivals

urlpatterns = [
    path("topologies/<name:name>/snapshot/", Snapshot.as_view()),
    path("topologies/<name:name>/events/", Events.as_view()),
    path("streams/<name:name>/arrivals/", StreamArrivals.as_view()),
    path("queries/<key:pk>/chart/", QueryChart.as_view()),
    path("queries/<key:pk>/figures/", QueryFigures.as_view()),
    path("queries/<key:pk>/results/", QueryResults.as_view()),
    path("queries/<key:pk>/subscription/", QuerySubscription.as_view()),
    path("queries/<key:pk>/subscription/events/", QuerySubscriptionEvents.as_view()),
    path("queries/<key:pk>/results/download/", QueryDownload.as_view()),
    path("queries/<key:pk>/results/provenance/", ResultProvenance.as_view()),
]
