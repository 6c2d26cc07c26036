from __future__ import annotations

from django.shortcuts import get_object_or_404

from backend.shell.pages import Page, Props
from backend.streams.models import Stream


class StreamPage(Page):
    island = "streams"

    def props(self) -> Props:
        self.title = get_object_or_404(Stream, name=self.kwargs["name"]).name
        return {"stream": self.title}
