import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_team_limits"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Quota",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("topologies", models.PositiveIntegerField(blank=True, null=True)),
                ("streams", models.PositiveIntegerField(blank=True, null=True)),
                ("queries", models.PositiveIntegerField(blank=True, null=True)),
                ("versions", models.PositiveIntegerField(blank=True, null=True)),
                ("alerts", models.PositiveIntegerField(blank=True, null=True)),
                ("tokens", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "account",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="quota",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="quota",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "ordering": ("account__username", "team__name"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("account", None), ("team__isnull", False)),
                            models.Q(("account__isnull", False), ("team", None)),
                            _connector="OR",
                        ),
                        name="quota_of_one",
                        violation_error_message="choose an account or a team",
                    )
                ],
            },
        ),
    ]
