from django.urls import path

from backend.forecasts.api import views

urlpatterns = [
    path("forecasts/", views.Forecasts.as_view()),
]
