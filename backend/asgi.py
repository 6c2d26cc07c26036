"""The ASGI application that uvicorn serves: `uvicorn backend.asgi:application`."""

from __future__ import annotations

import os
import threading

from django.core.asgi import get_asgi_application
from django.core.exceptions import ImproperlyConfigured

from backend.bounded.disconnects import telling_of_disconnects

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.settings")
application = telling_of_disconnects(get_asgi_application())

from django.conf import settings  # noqa: E402  (settings exist once Django is set up)

if not settings.REDIS_URL:
    raise ImproperlyConfigured("REDIS_URL is not set: expected redis://host:port/0 (`make run` sets it)")

from backend.bounded import pool  # noqa: E402

# Whoever comes first shall not wait for what workers import.
threading.Thread(target=pool.warm, daemon=True).start()
