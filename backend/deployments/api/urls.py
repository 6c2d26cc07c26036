from django.urls import path

from backend.deployments.api import audit, memory_limit, query_overrides, scaling, topologies
from backend.planning.api import consequences

urlpatterns = [
    path("topologies/", topologies.TopologyList.as_view()),
    path("topologies/<name:name>/", topologies.TopologyDetail.as_view()),
    path("topologies/<name:name>/graph/", topologies.TopologyGraph.as_view()),
    path("topologies/<name:name>/start/", topologies.TopologyStart.as_view()),
    path("topologies/<name:name>/stop/", topologies.TopologyStop.as_view()),
    path("topologies/<name:name>/restart/", topologies.TopologyRestart.as_view()),
    path("topologies/<name:name>/optimize/", topologies.TopologyOptimize.as_view()),
    path("topologies/<name:name>/impact/", consequences.TopologyImpact.as_view()),
    path("topologies/<name:name>/alternatives/", consequences.TopologyAlternatives.as_view()),
    path("topologies/<name:name>/tasks/", scaling.TopologyTasks.as_view()),
    path("topologies/<name:name>/memory/", memory_limit.TopologyMemory.as_view()),
    path("topologies/<name:name>/audit/", audit.TopologyAudit.as_view()),
    path("queries/<key:pk>/allowance/", query_overrides.QueryAllowed.as_view()),
    path("queries/<key:pk>/pin/", query_overrides.QueryPinned.as_view()),
    path("queries/<key:pk>/impact/", consequences.QueryImpact.as_view()),
    path("streams/<name:name>/impact/", consequences.StreamImpact.as_view()),
    path("runs/", topologies.RunList.as_view()),
    path("runs/<run:pk>/", topologies.RunDetail.as_view()),
    path("runs/<run:pk>/log/", topologies.RunLog.as_view()),
]
