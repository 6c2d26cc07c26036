from django.urls import path

from backend.alerts.api import views

urlpatterns = [
    path("alerts/", views.AlertRuleList.as_view()),
    path("alerts/<key:pk>/", views.AlertRuleDetail.as_view()),
    path("alerts/<key:pk>/test/", views.AlertRuleTest.as_view()),
    path("alerts/<key:pk>/deliveries/", views.AlertDeliveries.as_view()),
]
