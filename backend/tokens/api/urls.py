from django.urls import path

from backend.tokens.api import views

urlpatterns = [
    path("tokens/", views.TokenList.as_view()),
    path("tokens/<key:pk>/", views.TokenDetail.as_view()),
]
