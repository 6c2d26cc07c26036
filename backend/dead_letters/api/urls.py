from django.urls import path

from backend.dead_letters.api import views

urlpatterns = [
    path("streams/<name:name>/dead-letters/", views.DeadLetters.as_view()),
    path("streams/<name:name>/dead-letters/redrive/", views.Redrive.as_view()),
    path("streams/<name:name>/dead-letters/discard/", views.Discard.as_view()),
]
