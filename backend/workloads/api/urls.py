from django.urls import path

from backend.workloads.api import views

urlpatterns = [
    path("directory/", views.DirectoryOfWhatRuns.as_view()),
    path("directory/plan/", views.DirectoryPlanned.as_view()),
    path("directory/apply/", views.DirectoryApplied.as_view()),
]
