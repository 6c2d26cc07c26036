from __future__ import annotations

from django.shortcuts import get_object_or_404

from backend.accounts.reading import Reads
from backend.shell.pages import Page, Props
from backend.topologies.queries import topologies


class TopologyPage(Page):
    """One topology, or all of them."""

    island = "topology"
    title = "Topologies"
    section = "topologies"
    reads = Reads.TOPOLOGY

    def props(self) -> Props:
        if "name" not in self.kwargs:
            return {"topology": None}
        self.title = get_object_or_404(topologies(self.request.user), name=self.kwargs["name"]).name
        return {"topology": self.title}
