from django.urls import path

from backend.service_accounts.api import views

_ONE = "teams/<key:pk>/service-accounts/<key:account>/"

urlpatterns = [
    path("teams/<key:pk>/service-accounts/", views.ServiceAccountList.as_view()),
    path(_ONE, views.ServiceAccountDetail.as_view()),
    path(f"{_ONE}tokens/", views.ServiceTokenList.as_view()),
    path(f"{_ONE}tokens/<key:token>/", views.ServiceTokenDetail.as_view()),
]
