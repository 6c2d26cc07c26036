from django.urls import path

from backend.audit_trail.api.views import AuditChoices, AuditDownload, AuditList

urlpatterns = [
    path("audit/", AuditList.as_view()),
    path("audit/choices/", AuditChoices.as_view()),
    path("audit/download/", AuditDownload.as_view()),
]
