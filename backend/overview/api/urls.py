from django.urls import path

from backend.overview.api.views import OverviewDetail

urlpatterns = [path("overview/", OverviewDetail.as_view())]
