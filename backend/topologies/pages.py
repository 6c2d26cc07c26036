from __future__ import annotations

from django.shortcuts import get_object_or_404

from backend.shell.pages import Page, Props
from backend.topologies.models import Topology


class TopologyPage(Page):
    """One topology, or all of them."""

    island = "topology"
    title = "Topologies"
    section = "topologies"

    def props(self) -> Props:
        if "name" not in self.kwargs:
            return {"topology": None}
        self.title = get_object_or_404(Topology, name=self.kwargs["name"]).name
        return {"topology": self.title}
