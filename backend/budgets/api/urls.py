from django.urls import path

from backend.budgets.api.views import BudgetDetail, BudgetList

urlpatterns = [
    path("budgets/", BudgetList.as_view()),
    path("teams/<key:pk>/budget/", BudgetDetail.as_view()),
]
