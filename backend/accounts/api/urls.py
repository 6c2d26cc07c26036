from django.urls import path

from backend.accounts.api.quotas import AccountQuota, TeamQuota
from backend.accounts.api.teams import TeamDetail, TeamList, TeamMembers
from backend.accounts.api.views import AccountList, Me

urlpatterns = [
    path("me/", Me.as_view()),
    path("accounts/", AccountList.as_view()),
    path("persons/<key:pk>/quota/", AccountQuota.as_view()),
    path("teams/", TeamList.as_view()),
    path("teams/<key:pk>/", TeamDetail.as_view()),
    path("teams/<key:pk>/members/", TeamMembers.as_view()),
    path("teams/<key:pk>/quota/", TeamQuota.as_view()),
]
