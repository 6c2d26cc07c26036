from django.urls import path

from backend.accounts.api.views import AccountList, Me

urlpatterns = [path("me/", Me.as_view()), path("accounts/", AccountList.as_view())]
