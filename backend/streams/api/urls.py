from django.urls import path

from backend.streams.api import schema_registry, views

urlpatterns = [
    path("connectors/", views.ConnectorList.as_view()),
    path("schema-registry/columns/", schema_registry.SchemaRegistryColumns.as_view()),
    path("streams/", views.StreamList.as_view()),
    path("streams/<name:name>/", views.StreamDetail.as_view()),
    path("streams/<name:name>/sample/", views.StreamSample.as_view()),
    path("streams/<name:name>/events/", views.StreamEvents.as_view()),
]
