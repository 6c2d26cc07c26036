from django.urls import path

from backend.catalog.api import conversion, drafts, views

urlpatterns = [
    path("queries/", views.QueryList.as_view()),
    path("queries/<key:pk>/", views.QueryDetail.as_view()),
    path("queries/<key:pk>/versions/", views.QueryVersions.as_view()),
    path("queries/<key:pk>/deploy/", views.QueryDeploy.as_view()),
    path("queries/<key:pk>/undeploy/", views.QueryUndeploy.as_view()),
    path("queries/<key:pk>/results/", views.QueryResults.as_view()),
    path("queries/<key:pk>/results/download/", views.QueryDownload.as_view()),
    path("queries/<key:pk>/favourite/", views.QueryFavourite.as_view()),
    path("queries/<key:pk>/transfer/", views.QueryTransfer.as_view()),
    path("sql/validate/", views.SqlValidate.as_view()),
    path("sql/format/", views.SqlFormat.as_view()),
    path("sql/explain/", views.SqlExplain.as_view()),
    path("sql/outlook/", drafts.SqlOutlook.as_view()),
    path("sql/preview/", drafts.SqlPreview.as_view()),
    path("sql/convert/", conversion.SqlConvert.as_view()),
]
