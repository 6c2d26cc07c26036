from django.urls import path

from backend.catalog.api import conversion
from backend.deployments.api import queries
from backend.planning.api import drafts

urlpatterns = [
    path("queries/", queries.QueryList.as_view()),
    path("queries/<key:pk>/", queries.QueryDetail.as_view()),
    path("queries/<key:pk>/versions/", queries.QueryVersions.as_view()),
    path("queries/<key:pk>/deploy/", queries.QueryDeploy.as_view()),
    path("queries/<key:pk>/undeploy/", queries.QueryUndeploy.as_view()),
    path("queries/<key:pk>/results/", queries.QueryResults.as_view()),
    path("queries/<key:pk>/results/download/", queries.QueryDownload.as_view()),
    path("queries/<key:pk>/favourite/", queries.QueryFavourite.as_view()),
    path("queries/<key:pk>/transfer/", queries.QueryTransfer.as_view()),
    path("sql/validate/", queries.SqlValidate.as_view()),
    path("sql/format/", queries.SqlFormat.as_view()),
    path("sql/explain/", queries.SqlExplain.as_view()),
    path("sql/outlook/", drafts.SqlOutlook.as_view()),
    path("sql/preview/", drafts.SqlPreview.as_view()),
    path("sql/convert/", conversion.SqlConvert.as_view()),
]
