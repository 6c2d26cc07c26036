from django.urls import path

from backend.runs.api import views

urlpatterns = [
    path("runs/", views.RunList.as_view()),
    path("runs/<run:pk>/", views.RunDetail.as_view()),
    path("runs/<run:pk>/log/", views.RunLog.as_view()),
]
