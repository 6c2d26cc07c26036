from django.urls import path

from backend.topologies.api import audit, consequences, memory, scaling, views, words

urlpatterns = [
    path("topologies/", views.TopologyList.as_view()),
    path("topologies/<name:name>/", views.TopologyDetail.as_view()),
    path("topologies/<name:name>/graph/", views.TopologyGraph.as_view()),
    path("topologies/<name:name>/start/", views.TopologyStart.as_view()),
    path("topologies/<name:name>/stop/", views.TopologyStop.as_view()),
    path("topologies/<name:name>/restart/", views.TopologyRestart.as_view()),
    path("topologies/<name:name>/optimize/", views.TopologyOptimize.as_view()),
    path("topologies/<name:name>/impact/", consequences.TopologyImpact.as_view()),
    path("topologies/<name:name>/alternatives/", consequences.TopologyAlternatives.as_view()),
    path("topologies/<name:name>/tasks/", scaling.TopologyTasks.as_view()),
    path("topologies/<name:name>/memory/", memory.TopologyMemory.as_view()),
    path("topologies/<name:name>/audit/", audit.TopologyAudit.as_view()),
    path("queries/<key:pk>/allowance/", words.QueryAllowed.as_view()),
    path("queries/<key:pk>/pin/", words.QueryPinned.as_view()),
    path("queries/<key:pk>/impact/", consequences.QueryImpact.as_view()),
    path("streams/<name:name>/impact/", consequences.StreamImpact.as_view()),
    path("runs/", views.RunList.as_view()),
    path("runs/<run:pk>/", views.RunDetail.as_view()),
    path("runs/<run:pk>/log/", views.RunLog.as_view()),
]
