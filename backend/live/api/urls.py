from django.urls import path

from backend.live.api.events import events
from backend.live.api.views import Snapshot

urlpatterns = [
    path("topologies/<name:name>/snapshot/", Snapshot.as_view()),
    path("topologies/<name:name>/events/", events),
]
