from django.urls import path

from backend.persons.pages import ChoosePassword

urlpatterns = [
    path("password/<uidb64>/<token>/", ChoosePassword.as_view(), name="choose-password"),
]
