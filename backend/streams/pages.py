from __future__ import annotations

from django.shortcuts import get_object_or_404

from backend.accounts.reading import Reads
from backend.shell.pages import Page, Props
from backend.streams.queries import streams


class StreamPage(Page):
    island = "streams"
    reads = Reads.STREAM

    def props(self) -> Props:
        self.title = get_object_or_404(streams(self.request.user), name=self.kwargs["name"]).name
        return {"stream": self.title}
