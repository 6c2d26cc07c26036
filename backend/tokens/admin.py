from django.contrib import admin

from backend.shell.read_only import ReadOnly
from backend.tokens.models import Token


@admin.register(Token)
class TokenAdmin(ReadOnly):
    list_display = ("name", "owner", "stream", "created_at", "expires_at", "used_at")
    exclude = ("digest",)
