from django.urls import path

from backend.persons.api import views

urlpatterns = [
    path("persons/", views.PersonList.as_view()),
    path("persons/<key:pk>/", views.PersonDetail.as_view()),
    path("persons/<key:pk>/password-link/", views.PersonPasswordLink.as_view()),
    path("persons/<key:pk>/second-factor/", views.PersonSecondFactor.as_view()),
    path("persons/<key:pk>/sign-ins/", views.PersonSignIns.as_view()),
]
