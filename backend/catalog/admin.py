from django.contrib import admin

from backend.catalog.models import Query, QueryVersion
from backend.shell.read_only import ReadOnly


@admin.register(Query)
class QueryAdmin(ReadOnly):
    list_display = ("name", "owner", "updated_at")
    search_fields = ("name", "description")


@admin.register(QueryVersion)
class QueryVersionAdmin(ReadOnly):
    list_display = ("query", "number", "created_by", "created_at")
    list_filter = ("query",)
