"""A directory as one document: what runs, planned, and applied."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.bounded.caller import caller_of, calling
from backend.catalog.api.sql import BAD
from backend.http.documents import checked
from backend.topologies.queries import topologies
from backend.workloads.api.documents import plan_document
from backend.workloads.api.serializers import (
    AppliedSerializer,
    DirectoryPlanSerializer,
    DirectorySerializer,
    ExportedSerializer,
    ExportRequestSerializer,
)
from backend.workloads.applying import apply_directory
from backend.workloads.export import files_of_what_runs
from backend.workloads.planning import plan_directory


class DirectoryOfWhatRuns(APIView):
    """What runs, as the files of a directory."""

    reads = Reads.SEVERAL

    @extend_schema(parameters=[ExportRequestSerializer], responses=ExportedSerializer)
    def get(self, request: Request) -> Response:
        topology = checked(ExportRequestSerializer(data=request.query_params)).validated_data.get("topology")
        if topology is not None:
            get_object_or_404(topologies(request.user), name=topology)
        return Response(ExportedSerializer({"files": files_of_what_runs(request.user, topology)}).data)


class DirectoryPlanned(APIView):
    """What applying a directory would change, and what that costs; nothing is written."""

    reads = Reads.SEVERAL

    @extend_schema(request=DirectorySerializer, responses={200: DirectoryPlanSerializer, 400: BAD})
    def post(self, request: AccountRequest) -> Response:
        given = checked(DirectorySerializer(data=request.data)).validated_data
        made = plan_directory(request.user, caller_of(request), given["name"], given["files"], given["prune"])
        return Response(DirectoryPlanSerializer(plan_document(made)).data)


class DirectoryApplied(APIView):
    """Make everything as a directory says, or nothing."""

    reads = Reads.SEVERAL

    @extend_schema(request=DirectorySerializer, responses={200: AppliedSerializer, 400: BAD})
    def post(self, request: AccountRequest) -> Response:
        given = checked(DirectorySerializer(data=request.data)).validated_data
        # Done to the end, also if the client goes away: then it finds nothing to do the next time.
        applied = apply_directory(
            request.user, calling(request.user), given["name"], given["files"], given["prune"]
        )
        document = {
            "done": applied.done,
            "awaited": [{"topology": one.topology, "revision": one.revision} for one in applied.awaited],
        }
        return Response(AppliedSerializer(document).data)
