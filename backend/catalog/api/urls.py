from django.urls import path

from backend.catalog.api import conversion, sql

urlpatterns = [
    path("sql/validate/", sql.SqlValidate.as_view()),
    path("sql/format/", sql.SqlFormat.as_view()),
    path("sql/preview/", sql.SqlPreview.as_view()),
    path("sql/convert/", conversion.SqlConvert.as_view()),
    path("sql/unregistered/", conversion.SqlUnregistered.as_view()),
]
