"""Settings, all of them from the environment; `backend.shell.checks` says what is wrong with them.

MILLRACE_HOME               where everything lives that the product writes (.millrace)
DATABASE_URL                sqlite:///<MILLRACE_HOME>/millrace.sqlite3
REDIS_URL                   required: broker, control plane and ingestion
SECRET_KEY                  generated once into MILLRACE_HOME/secret_key
MILLRACE_DEBUG              1 turns Django's debug pages on
MILLRACE_HOSTS              comma-separated host names that the site answers to (localhost)
MILLRACE_ORIGINS            comma-separated origins trusted for CSRF behind a proxy (none)
MILLRACE_SECURE             1 behind TLS: cookies are sent over TLS only
MILLRACE_METHOD             the optimization method of new topologies (ilp)
MILLRACE_PLAN_SECONDS       the solver's time limit for a topology (5)
MILLRACE_HEARTBEAT_SECONDS  a job silent for longer is dead (10)
MILLRACE_START_SECONDS      a job may take this long from launch to its first heartbeat (120)
MILLRACE_TRIGGER_MS         trigger interval of new topologies (500)
MILLRACE_PARALLELISM        tasks of the stores whose stream sets none (the processors, at most 4)
MILLRACE_DEMO_PASSWORD      password of the demo account (millrace)
"""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

import dj_database_url

BASE_DIR = Path(__file__).resolve().parent.parent


def _list(name: str, default: str = "") -> list[str]:
    return [part.strip() for part in os.environ.get(name, default).split(",") if part.strip()]


def _number(name: str, default: float) -> float | str:
    """The number, or the text that is none: a system check reports it with its name."""
    text = os.environ.get(name, "")
    try:
        return float(text) if text else default
    except ValueError:
        return text


def _secret_key(home: Path) -> str:
    """The key given, or one that is made once, so that sessions outlive a restart."""
    given = os.environ.get("SECRET_KEY")
    if given:
        return given
    file = home / "secret_key"
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_text().strip()
    with os.fdopen(descriptor, "w") as stream:
        key = secrets.token_urlsafe(50)
        stream.write(key)
    return key


MILLRACE_HOME = Path(os.environ.get("MILLRACE_HOME") or BASE_DIR / ".millrace").resolve()
MILLRACE_HOME.mkdir(parents=True, exist_ok=True)

SECRET_KEY = _secret_key(MILLRACE_HOME)
DEBUG = os.environ.get("MILLRACE_DEBUG") == "1"
ALLOWED_HOSTS = _list("MILLRACE_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = _list("MILLRACE_ORIGINS")
SECURE = os.environ.get("MILLRACE_SECURE") == "1"

REDIS_URL = os.environ.get("REDIS_URL", "")
MILLRACE_METHOD = os.environ.get("MILLRACE_METHOD", "ilp")
MILLRACE_PLAN_SECONDS = _number("MILLRACE_PLAN_SECONDS", 5.0)
MILLRACE_HEARTBEAT_SECONDS = _number("MILLRACE_HEARTBEAT_SECONDS", 10.0)
MILLRACE_START_SECONDS = _number("MILLRACE_START_SECONDS", 120.0)
MILLRACE_TRIGGER_MS = _number("MILLRACE_TRIGGER_MS", 500.0)
MILLRACE_PARALLELISM = _number("MILLRACE_PARALLELISM", float(min(4, os.cpu_count() or 1)))
MILLRACE_JOB_COMMAND = [sys.executable, "-m", "jobs", "run"]
MILLRACE_DEMO_PASSWORD = os.environ.get("MILLRACE_DEMO_PASSWORD", "millrace")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "servestatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "backend.shell",
    "backend.accounts",
    "backend.streams",
    "backend.catalog",
    "backend.topologies",
    "backend.live",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "backend.urls"
ASGI_APPLICATION = "backend.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {
    "default": dj_database_url.config(
        default=f"sqlite:///{MILLRACE_HOME / 'millrace.sqlite3'}", conn_health_checks=True
    )
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Web server, worker and beat write at once: readers must not block writers, and a writer waits
    # for its turn at BEGIN, where SQLite honours the timeout, not at its first write.
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/queries/"
LOGOUT_REDIRECT_URL = "login"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SESSION_COOKIE_SAMESITE = "Lax"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if SECURE:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LANGUAGE_CODE = "en"
USE_I18N = False
TIME_ZONE = "UTC"
USE_TZ = True

FRONTEND_DIST = BASE_DIR / "frontend" / "dist"
STATIC_URL = "/static/"
STATIC_ROOT = MILLRACE_HOME / "static"
STATICFILES_DIRS = [("frontend", FRONTEND_DIST)] if FRONTEND_DIST.is_dir() else []
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_MAX_AGE = 0 if DEBUG else 3600

DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["backend.parsers.BoundedJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "backend.answers.answer",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Millrace",
    "DESCRIPTION": "Shared, adaptive multi-way stream joins in SQL.",
    "VERSION": "1",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_INCLUDE_SCHEMA": False,
    # Assets of the API page come from the package, so that it works without the internet.
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "ColumnTypeEnum": "backend.streams.models.COLUMN_TYPE_CHOICES",
        "RunStateEnum": "backend.topologies.models.RunState",
        "LiveStateEnum": "backend.live.state.LIVE_STATE_CHOICES",
        "QueryStatusEnum": "backend.topologies.status.STATUS_CHOICES",
        "DesiredEnum": "backend.topologies.models.Desired",
        "DeploymentStateEnum": "backend.topologies.status.DEPLOYMENT_CHOICES",
    },
}

CELERY_BROKER_URL = REDIS_URL
CELERY_RESULT_BACKEND = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TRACK_STARTED = True
CELERY_TIMEZONE = "UTC"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# A task that is lost with its worker is done again by the supervisor, which reads the database.
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BEAT_SCHEDULE_FILENAME = str(MILLRACE_HOME / "celerybeat-schedule")
CELERY_BEAT_SCHEDULE = {
    "supervise": {
        "task": "topologies.supervise",
        "schedule": 2.0,
        # One that waited longer is superseded by the next.
        "options": {"expires": 4.0},
    },
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": os.environ.get("MILLRACE_LOG_LEVEL", "INFO")},
}
