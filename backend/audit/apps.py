from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class AuditConfig(AppConfig):
    name = "backend.audit"
    default = True


class RecordedAdminConfig(admin_apps.AdminConfig):
    """Django's admin, whose changes are in the audit trail."""

    default = False
    default_site = "backend.audit.admin_site.RecordedSite"
