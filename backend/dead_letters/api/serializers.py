from __future__ import annotations

from rest_framework import serializers

from backend.dead_letters.actions import Chosen
from backend.dead_letters.queries import Letter
from backend.http.documents import Document, Form

MOST_CHOSEN_LETTERS = 1000
"""In one request."""


class DeadLetterSerializer(serializers.Serializer[Letter]):
    topology = serializers.CharField()
    id = serializers.CharField()
    at = serializers.DateTimeField()
    batch = serializers.IntegerField()
    reason = serializers.CharField()
    event_time = serializers.DateTimeField(allow_null=True)
    tuple = serializers.CharField(help_text="JSON, or the text as it came")
    cut = serializers.BooleanField(help_text="only the beginning was kept")
    query = serializers.CharField(allow_null=True, help_text="whose work failed, as far as known")
    expression = serializers.CharField(
        allow_null=True, help_text="what has no value for the tuple, which was accepted all the same"
    )


class DeadLettersSerializer(Document):
    kept = serializers.IntegerField(help_text="of each topology about the newest thousand")
    letters = DeadLetterSerializer(many=True)


class ChosenSerializer(Form):
    topology = serializers.RegexField(r"\A[a-z][a-z0-9_-]{0,62}\Z")
    id = serializers.RegexField(r"\A[0-9]{1,19}-[0-9]{1,19}\Z")


class RedriveLetterSerializer(ChosenSerializer):
    tuple = serializers.DictField(
        child=serializers.JSONField(allow_null=True),
        allow_null=True,
        default=None,
        help_text="sent in place of the letter's own",
    )


class DiscardSerializer(Form):
    letters = ChosenSerializer(  # type: ignore[call-arg]  # `many` makes it a ListSerializer
        many=True, allow_empty=False, max_length=MOST_CHOSEN_LETTERS
    )

    def chosen(self) -> list[Chosen]:
        """The letters that were pointed at, each once."""
        found = {(one["topology"], one["id"]): Chosen(**one) for one in self.validated_data["letters"]}
        return list(found.values())


class RedriveSerializer(DiscardSerializer):
    letters = RedriveLetterSerializer(  # type: ignore[call-arg]  # `many` makes it a ListSerializer
        many=True, allow_empty=False, max_length=MOST_CHOSEN_LETTERS
    )


class SentSerializer(Document):
    count = serializers.IntegerField()
