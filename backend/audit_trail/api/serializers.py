from __future__ import annotations

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from backend.accounts.api.serializers import IsServiceField
from backend.audit.models import AuditEntry
from backend.audit.origin import Through
from backend.audit_trail.queries import Choices, Wanted
from backend.http.documents import Document, Form


class AuditFilterSerializer(Form):
    """What is looked for; each that is given holds."""

    who = serializers.CharField(default="", max_length=150, help_text="an account's name at that time")
    through = serializers.ChoiceField(choices=Through.choices, required=False)
    kind = serializers.CharField(default="", max_length=63, help_text="stream, query, topology, ...")
    verb = serializers.CharField(default="", max_length=40, help_text="create, change, deploy, sign in, ...")
    team = serializers.CharField(default="", max_length=63)
    topology = serializers.CharField(default="", max_length=63)
    text = serializers.CharField(
        default="", max_length=200, help_text="words, each anywhere in names, details and changes"
    )
    since = serializers.DateTimeField(required=False, help_text="inclusive")
    until = serializers.DateTimeField(required=False, help_text="exclusive")

    def wanted(self) -> Wanted:
        """As the form asks."""
        fields = AuditFilterSerializer().fields
        return Wanted(**{name: value for name, value in self.validated_data.items() if name in fields})


class AuditListRequestSerializer(AuditFilterSerializer):
    before = serializers.IntegerField(
        min_value=0, max_value=2**63 - 1, required=False, help_text="`next` of the page before this one"
    )
    limit = serializers.IntegerField(min_value=1, max_value=500, default=100)


class AuditDownloadRequestSerializer(AuditFilterSerializer):
    form = serializers.ChoiceField(choices=["csv", "json"], default="csv")


class AuditChangeSerializer(Document):
    field = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class AuditEntrySerializer(serializers.ModelSerializer[AuditEntry]):
    """Who changed what, when, and through what, by the names of that time."""

    account = serializers.SerializerMethodField(help_text="null: the product, or nobody who is known")
    account_is_service = IsServiceField(source="account", allow_null=True)
    through = serializers.ChoiceField(choices=Through.choices)
    through_name = serializers.CharField(help_text="of a token, a directory or a command")
    key = serializers.CharField(help_text="the thing's primary key at that time")
    topology = serializers.CharField(help_text="that it concerns")
    changes = serializers.SerializerMethodField()

    class Meta:
        model = AuditEntry
        fields = (
            *("id", "at", "account", "account_is_service", "through", "through_name", "verb", "kind", "name"),
            *("key", "team", "topology", "detail", "changes"),
        )
        read_only_fields = fields

    def get_account(self, entry: AuditEntry) -> str | None:
        return entry.account_name or None

    @extend_schema_field(AuditChangeSerializer(many=True))
    def get_changes(self, entry: AuditEntry) -> list[dict[str, object]]:
        return [
            {"field": field, "before": before, "after": after}
            for field, (before, after) in entry.changes.items()
        ]


class AuditPageSerializer(Document):
    entries = AuditEntrySerializer(many=True, help_text="newest first")
    next = serializers.IntegerField(allow_null=True, help_text="`before` of the next page; null: no more")


class AuditChoicesSerializer(serializers.Serializer[Choices]):
    """What stands in the trail."""

    kinds = serializers.ListField(child=serializers.CharField())
    verbs = serializers.ListField(child=serializers.CharField())
