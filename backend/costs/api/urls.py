from django.urls import path

from backend.costs.api.views import CostsDownload, CostsList

urlpatterns = [
    path("costs/", CostsList.as_view()),
    path("costs/download/", CostsDownload.as_view()),
]
