from django.contrib import admin

from backend.tokens.models import Token
from backend.topologies.admin import ReadOnly


@admin.register(Token)
class TokenAdmin(ReadOnly):
    list_display = ("name", "owner", "stream", "created_at", "expires_at", "used_at")
    exclude = ("digest",)
