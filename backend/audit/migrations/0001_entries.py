import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import backend.audit.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ("account_name", models.CharField(blank=True, default="", max_length=150)),
                (
                    "through",
                    models.CharField(
                        choices=[
                            ("page", "page"),
                            ("token", "token"),
                            ("admin", "admin"),
                            ("directory", "directory"),
                            ("command", "command"),
                            ("provider", "provider"),
                            ("product", "product"),
                            ("unknown", "unknown"),
                        ],
                        max_length=9,
                    ),
                ),
                ("through_name", models.CharField(blank=True, default="", max_length=255)),
                ("kind", models.CharField(max_length=63)),
                ("name", models.CharField(blank=True, default="", max_length=255)),
                ("key", models.CharField(blank=True, default="", max_length=63)),
                ("team", models.CharField(blank=True, default="", max_length=63)),
                ("topology", models.CharField(blank=True, default="", max_length=63)),
                ("verb", models.CharField(max_length=40)),
                ("detail", models.TextField(blank=True, default="")),
                ("changes", models.JSONField(default=dict, encoder=backend.audit.models.AsWritten)),
                (
                    "account",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "audit entries",
                "ordering": ("-pk",),
                "indexes": [
                    models.Index(fields=["topology", "-id"], name="audit_of_topology"),
                    models.Index(fields=["account_name", "-id"], name="audit_of_account"),
                    models.Index(fields=["kind", "verb"], name="audit_of_kind"),
                ],
            },
        ),
    ]
