from django.urls import path

from backend.oracle.api import views

urlpatterns = [
    path("queries/<key:pk>/checks/", views.QueryChecks.as_view()),
]
