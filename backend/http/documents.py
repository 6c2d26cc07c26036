"""JSON requests and answers, as REST framework's serializers declare them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from rest_framework import serializers

Form = serializers.Serializer[None]
"""What a request says; there is never an object behind it."""
Document = serializers.Serializer[Mapping[str, object]]
"""What an answer shows of a mapping. Where one object is shown, its serializer names the object's type."""
_Form = TypeVar("_Form", bound=serializers.BaseSerializer[Any])


def checked(form: _Form) -> _Form:
    """The form, whose `validated_data` can be read now.

    Raises `ValidationError`, of all its fields.
    """
    form.is_valid(raise_exception=True)
    return form
