from django.urls import path

from backend.planning.api import drafts, impact, plans

urlpatterns = [
    path("sql/explain/", drafts.SqlExplain.as_view()),
    path("sql/outlook/", drafts.SqlOutlook.as_view()),
    path("topologies/<name:name>/graph/", plans.TopologyGraph.as_view()),
    path("topologies/<name:name>/alternatives/", plans.TopologyAlternatives.as_view()),
    path("topologies/<name:name>/costs/", plans.TopologyCosts.as_view()),
    path("topologies/<name:name>/savings/", plans.TopologySavings.as_view()),
    path("topologies/<name:name>/impact/", impact.TopologyImpact.as_view()),
    path("queries/<key:pk>/impact/", impact.QueryImpact.as_view()),
    path("streams/<name:name>/impact/", impact.StreamImpact.as_view()),
]
