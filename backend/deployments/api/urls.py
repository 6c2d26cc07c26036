from django.urls import path

from backend.deployments.api import (
    audit,
    job_settings,
    memory_limit,
    planner_settings,
    queries,
    query_overrides,
    scaling,
    topologies,
)

urlpatterns = [
    path("queries/", queries.QueryList.as_view()),
    path("queries/<key:pk>/", queries.QueryDetail.as_view()),
    path("queries/<key:pk>/versions/", queries.QueryVersions.as_view()),
    path("queries/<key:pk>/deploy/", queries.QueryDeploy.as_view()),
    path("queries/<key:pk>/undeploy/", queries.QueryUndeploy.as_view()),
    path("queries/<key:pk>/favourite/", queries.QueryFavourite.as_view()),
    path("queries/<key:pk>/transfer/", queries.QueryTransfer.as_view()),
    path("queries/<key:pk>/allowance/", query_overrides.QueryAllowed.as_view()),
    path("queries/<key:pk>/pin/", query_overrides.QueryPinned.as_view()),
    path("topologies/", topologies.TopologyList.as_view()),
    path("topologies/<name:name>/", topologies.TopologyDetail.as_view()),
    path("topologies/<name:name>/start/", topologies.TopologyStart.as_view()),
    path("topologies/<name:name>/stop/", topologies.TopologyStop.as_view()),
    path("topologies/<name:name>/restart/", topologies.TopologyRestart.as_view()),
    path("topologies/<name:name>/optimize/", topologies.TopologyOptimize.as_view()),
    path("topologies/<name:name>/tasks/", scaling.TopologyTasks.as_view()),
    path("topologies/<name:name>/memory/", memory_limit.TopologyMemory.as_view()),
    path("topologies/<name:name>/job/", job_settings.TopologyJob.as_view()),
    path("topologies/<name:name>/planner/", planner_settings.TopologyPlanner.as_view()),
    path("topologies/<name:name>/audit/", audit.TopologyAudit.as_view()),
]
