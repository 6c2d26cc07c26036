from django.urls import path

from backend.history.api.views import TopologyHistory

urlpatterns = [
    path("topologies/<name:name>/history/", TopologyHistory.as_view()),
]
