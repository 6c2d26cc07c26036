from django.urls import path

from backend.accounts.api.views import Me

urlpatterns = [path("me/", Me.as_view())]
