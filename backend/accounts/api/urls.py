from django.urls import path

from backend.accounts.api.teams import TeamDetail, TeamList
from backend.accounts.api.views import AccountList, Me

urlpatterns = [
    path("me/", Me.as_view()),
    path("accounts/", AccountList.as_view()),
    path("teams/", TeamList.as_view()),
    path("teams/<key:pk>/", TeamDetail.as_view()),
]
