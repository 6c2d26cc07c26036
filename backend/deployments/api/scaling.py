"""The tasks of a topology's stores."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.requests import AccountRequest
from backend.deployments import scaling
from backend.http.documents import Document, Form, checked
from backend.topologies.models import Topology
from backend.topologies.queries import topologies
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


def _document(topology: Topology) -> object:
    document = {"most": scaling.most_tasks(), "streams": scaling.tasks_of(topology)}
    return TasksSerializer(document).data


class TopologyTasks(APIView):
    @extend_schema(operation_id="topology_tasks", responses=TasksSerializer)
    def get(self, request: Request, name: str) -> Response:
        return Response(_document(get_object_or_404(topologies(), name=name)))

    @extend_schema(
        operation_id="set_topology_tasks", request=SetTasksSerializer, responses={202: TasksSerializer}
    )
    def put(self, request: AccountRequest, name: str) -> Response:
        topology = get_object_or_404(topologies(), name=name)
        form = checked(SetTasksSerializer(data=request.data))
        scaling.set_tasks(request.user, topology, form.validated_data["tasks"])
        return Response(_document(topology), status=202)
