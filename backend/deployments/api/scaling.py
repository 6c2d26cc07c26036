"""The tasks of a topology's stores."""

from __future__ import annotations

from collections.abc import Iterable

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.deployments import scaling
from backend.errors import Conflict
from backend.http.documents import Document, Form, checked
from backend.topologies.models import Topology
from backend.topologies.queries import topologies
from backend.topologies.sight import sight_of
from optimizer.logical.stream import MOST_TASKS


class StreamTasksSerializer(serializers.Serializer[scaling.StreamTasks]):
    stream = serializers.CharField()
    tasks = serializers.IntegerField(allow_null=True, help_text="in the plan in use; null before the first")
    fixed = serializers.IntegerField(allow_null=True, help_text="what somebody set; null: by load")


class TasksSerializer(Document):
    """How many tasks the stores of every stream of a topology have."""

    most = serializers.IntegerField(help_text="that the load may ask for")
    streams = StreamTasksSerializer(many=True)


class SetTasksSerializer(Form):
    tasks = serializers.DictField(
        child=serializers.IntegerField(min_value=1, max_value=MOST_TASKS, allow_null=True),
        allow_empty=False,
        help_text="by stream; null: by load",
    )


def _document(request: Request, topology: Topology) -> object:
    sight = sight_of(request.user, topology)
    seen = [one for one in scaling.tasks_of(topology) if sight.reads_stream(one.stream)]
    document = {"most": scaling.most_tasks(), "streams": seen}
    return TasksSerializer(document).data


def _refuse_unseen(request: AccountRequest, topology: Topology, streams: Iterable[str]) -> None:
    """Raise `Conflict` for a stream that is not read, as far as the account may know."""
    sight = sight_of(request.user, topology)
    unseen = sorted(stream for stream in streams if not sight.reads_stream(stream))
    if unseen:
        raise Conflict("stream-not-read", f"{topology} does not read {', '.join(unseen)}")


class TopologyTasks(APIView):
    reads = Reads.TOPOLOGY

    @extend_schema(operation_id="topology_tasks", responses=TasksSerializer)
    def get(self, request: Request, name: str) -> Response:
        return Response(_document(request, get_object_or_404(topologies(request.user), name=name)))

    @extend_schema(
        operation_id="set_topology_tasks", request=SetTasksSerializer, responses={202: TasksSerializer}
    )
    def put(self, request: AccountRequest, name: str) -> Response:
        topology = get_object_or_404(topologies(request.user), name=name)
        form = checked(SetTasksSerializer(data=request.data))
        _refuse_unseen(request, topology, form.validated_data["tasks"])
        scaling.set_tasks(request.user, topology, form.validated_data["tasks"])
        return Response(_document(request, topology), status=202)
